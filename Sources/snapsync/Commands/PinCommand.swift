import ArgumentParser
import CommandSupport
import SnapshotSync

/// `snapsync pin`: excludes a version from pruning.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protect a version from pruning.",
        discussion: """
            prune never removes a pinned version. All devices see the pin. Only publishers can pin. With --remove, remove the pin, even of a \
            version that is lost, so that prune can remove the version when it is old enough.

            EXAMPLES
              snapsync pin phone.db 12
              snapsync pin phone.db 12 --name before-the-move
              snapsync pin phone.db 12 --remove
            """)

    @OptionGroup var options: EngineArguments
    @Argument(help: "The version, as log prints it.")
    var version: Int
    @Option(name: .long, help: ArgumentHelp("A name for the pin.", valueName: "text"))
    var name: String?
    @Flag(name: .long, help: "Remove the pin.")
    var remove = false

    func validate() throws {
        guard version >= 1 else { throw ValidationError("Version numbers start at 1.") }
        guard name.map({ (1...200).contains($0.utf8.count) }) ?? true else { throw ValidationError("--name must have 1 to 200 bytes.") }
        guard name == nil || !remove else { throw ValidationError("Choose one of --name and --remove.") }
    }

    func run() async throws {
        try await options.done { engine, _ in
            if remove { return (try await engine.versions.unpin(version), ["version \(version) is no longer pinned"]) }
            let report = try await engine.versions.pin(version, name: name)
            return (report, [report.changed ? "pinned version \(version)" : "version \(version) is pinned already"])
        }
    }
}
