package import Foundation

/// The command as it was built with the tests: `snapsync`, beside the test bundle.
package enum BuiltCommand {
    /// Runs the command and waits for it.
    package static func run(
        _ arguments: [String], in directory: String? = nil, environment: [String: String] = [:], input: Data = Data()
    ) throws -> ProgramRun {
        try ProgramRun(path(for: arguments), arguments, in: directory, environment: environment, input: input)
    }

    /// Runs the command as user 65534, in no group but that user's own, where the tests run as root; else as who runs the tests.
    ///
    /// What it covers is not counted: that user may not write where the profiles lie, and each run would say so on standard error.
    package static func runAsNobody(_ arguments: [String], in directory: String? = nil) throws -> ProgramRun {
        let drop = geteuid() == 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : []
        let words = drop + [try path(for: arguments)] + arguments
        return try ProgramRun(words[0], Array(words.dropFirst()), in: directory, environment: ["LLVM_PROFILE_FILE": "/dev/null"])
    }

    /// Whether ``runAsNobody(_:in:)`` is possible: whether nobody may run the command where it was built.
    package static let isForNobody: Bool = {
        guard geteuid() == 0 else { return true }
        return (try? runAsNobody(["--version"]))?.status == 0
    }()

    /// Starts the command.
    package static func start(_ arguments: [String], in directory: String? = nil) throws -> RunningProgram {
        try RunningProgram(path(for: arguments), arguments, in: directory)
    }

    /// The path of the program that has the command: sharing and sample data are in a program of their own.
    package static func path(for arguments: [String]) throws -> String {
        try path(of: ["generate", "share"].contains(arguments.first) ? "snapsync-examples" : "snapsync")
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
