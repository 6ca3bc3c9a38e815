import Foundation

/// The command as it was built with the tests: `snapsync`, beside the test bundle.
package enum BuiltCommand {
    /// Runs the command and waits for it.
    package static func run(
        _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:]
    ) throws -> ProgramRun {
        try ProgramRun(path(), arguments, in: directory, environment: environment)
    }

    /// Starts the command.
    package static func start(_ arguments: [String], in directory: String? = nil) throws -> RunningProgram {
        try RunningProgram(path(), arguments, in: directory)
    }

    /// The command's absolute path.
    package static func path() throws -> String {
        let bundles = [try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), CommandLine.arguments.first]
        for bundle in bundles.compactMap({ $0 }) {
            let found = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("snapsync").path
            if FileManager.default.isExecutableFile(atPath: found) { return found }
        }
        throw ToolFailure("snapsync is not beside the test bundle \(bundles)")
    }
}
