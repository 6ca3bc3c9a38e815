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

/// A directory of its own, removed with the value.
final class TemporaryDirectory {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("snapshot-format-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func write(_ data: Data, _ name: String) throws -> String {
        let file = url.appendingPathComponent(name)
        try data.write(to: file)
        return file.path
    }
}
