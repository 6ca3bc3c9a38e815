import ArgumentParser
import SnapshotSync

/// `snapsync pin`: excludes a version from pruning.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protect a version from pruning.",
        discussion: """
            Pins a version, so that prune never removes it. Call it as snapsync pin VERSION. Every device sees the pin. Publishers only.

            EXAMPLES
              snapsync pin 12 --db phone.db
              snapsync pin 12 --name before-the-move --db phone.db
            """)

    @Argument(help: "The version, as history lists it.", completion: Completions.versions)
    var version: Int
    @Option(name: .long, help: ArgumentHelp("What to call it.", valueName: "text"))
    var name: String?
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard version >= 1 else { throw ValidationError("Versions are numbered from 1.") }
        guard name.map({ (1...200).contains($0.utf8.count) }) ?? true else { throw ValidationError("A name has 1 to 200 bytes.") }
    }

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            let report = try await engine.pin(version, name: name)
            try output.printer.done(report, [report.changed ? "pinned version \(version)" : "version \(version) is pinned already"])
        }
    }
}

/// `snapsync unpin`: removes a version's pin.
struct UnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Allow a pinned version to be pruned again.",
        discussion: """
            Removes a pin. Call it as snapsync unpin VERSION. prune may then remove the version like others of its age. Publishers only. \
            It also removes a pin that keeps nothing any more, because the pinned version's checkpoint and commit are both gone.

            EXAMPLE
              snapsync unpin 12 --db phone.db
            """)

    @Argument(help: "The version, as history lists it.", completion: Completions.versions)
    var version: Int
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.run {
            try output.printer.done(try await engine.unpin(version), ["version \(version) is no longer pinned"])
        }
    }
}
