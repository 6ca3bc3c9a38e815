import ArgumentParser
import SnapshotSync

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
