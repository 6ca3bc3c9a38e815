import ArgumentParser
import SnapshotSync

/// `snapsync pin`: excludes a version from pruning.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protect a version from pruning.",
        discussion: """
            prune never removes a pinned version. All devices see the pin. Only publishers can pin.

            EXAMPLES
              snapsync pin 12 --db phone.db
              snapsync pin 12 --name before-the-move --db phone.db
            """)

    @Argument(help: "The version, as history prints it.")
    var version: Int
    @Option(name: .long, help: ArgumentHelp("A name for the pin.", valueName: "text"))
    var name: String?
    @OptionGroup var options: EngineArguments

    func validate() throws {
        guard version >= 1 else { throw ValidationError("Version numbers start at 1.") }
        guard name.map({ (1...200).contains($0.utf8.count) }) ?? true else { throw ValidationError("--name must have 1 to 200 bytes.") }
    }

    func run() async throws {
        try await options.done { engine, _ in
            let report = try await engine.pin(version, name: name)
            return (report, [report.changed ? "pinned version \(version)" : "version \(version) is pinned already"])
        }
    }
}

/// `snapsync unpin`: removes a version's pin.
struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Allow a pinned version to be pruned again.",
        discussion: """
            Remove the pin, so that prune can remove the version when it is old enough. unpin also removes a pin whose version is lost. \
            Only publishers can unpin.

            EXAMPLE
              snapsync unpin 12 --db phone.db
            """)

    @Argument(help: "The version, as history prints it.")
    var version: Int
    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            (try await engine.unpin(version), ["version \(version) is no longer pinned"])
        }
    }
}
