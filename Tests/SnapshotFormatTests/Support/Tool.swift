import Foundation
import TestSupport
import Testing

/// Runs the programs that check our bytes independently.
enum Tool {
    /// Runs a program and returns what it printed; a status other than 0 fails the test.
    static func run(_ program: String, _ arguments: [String], input: Data? = nil) throws -> Data {
        let (output, status, errors) = try attempt(program, arguments, input: input)
        #expect(status == 0, "\(program) \(arguments): \(errors)")
        return output
    }

    /// Runs a program and returns what it printed, its status and its complaints.
    static func attempt(_ program: String, _ arguments: [String], input: Data? = nil) throws -> (Data, status: Int32, errors: String) {
        let run = try ProgramRun(program, arguments, input: input ?? Data())
        return (run.output, run.status, run.errorText)
    }
}
