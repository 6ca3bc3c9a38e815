package import Foundation

/// The command as it was built with the tests: `snapsync`, beside the test bundle.
package enum BuiltCommand {
    /// Runs the command and waits for it.
    package static func run(
        _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:], input: Data = Data()
    ) throws -> ProgramRun {
        try ProgramRun(path(), arguments, in: directory, environment: environment, input: input)
    }

    /// Runs the command as user 65534, in no group but that user's own, where the tests run as root; else as who runs the tests.
    ///
    /// What it covers is not counted: that user may not write where the profiles lie, and each run would say so on standard error.
    package static func runAsNobody(_ arguments: [String], in directory: String? = nil) throws -> ProgramRun {
        let drop = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let words = drop + [try path()] + arguments
        return try ProgramRun(words[0], Array(words.dropFirst()), in: directory, environment: ["LLVM_PROFILE_FILE": "/dev/null"])
    }

    /// Starts the command.
    package static func start(_ arguments: [String], in directory: String? = nil) throws -> RunningProgram {
        try RunningProgram(path(), arguments, in: directory)
    }

    /// The absolute path of the command, or of another program that is built with the tests.
    package static func path(of name: String = "snapsync") throws -> String {
        let bundles = [try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), CommandLine.arguments.first]
        for bundle in bundles.compactMap({ $0 }) {
            let found = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
            if FileManager.default.isExecutableFile(atPath: found) { return found }
        }
        throw ToolFailure("\(name) is not beside the test bundle \(bundles)")
    }
}
