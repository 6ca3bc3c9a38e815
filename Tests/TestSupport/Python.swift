package import Foundation

/// Scripts for `python3`: an independent reader and writer of JSON, gzip and SQLite files.
package enum Python {
    /// Runs a script and returns what it prints.
    ///
    /// - Throws: ``ToolFailure`` if the script fails, with its traceback.
    @discardableResult
    package static func run(
        _ script: String, _ arguments: [String] = [], in directory: String? = nil, environment: [String: String] = [:], input: Data = Data()
    ) throws -> String {
        try ToolFailure.check(ProgramRun("python3", ["-c", script] + arguments, in: directory, environment: environment, input: input), "python3").text
    }
}
