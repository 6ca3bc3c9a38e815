import ArgumentParser
import SnapshotSync

/// `snapsync apply`: runs the sync that a plan describes.
struct ApplyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Run the sync that a plan describes, unless either side has changed since.",
        discussion: """
            Call it as snapsync apply FILE. If this database was changed, or another version was published, since the plan was made, it \
            does nothing and ends with 78.

            EXAMPLE
              snapsync apply tonight.plan --db phone.db
            """)

    @Argument(help: "The file that plan --out has written.", completion: .file())
    var file: String
    @OptionGroup var database: DatabaseOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let engine = try database.prepare(output)
        try await output.printer.work("apply") { progress in
            let report = try await engine.apply(planFile: file, progress: progress)
            try output.printer.done(report, (report.exported?.lines ?? []) + (report.imported?.lines ?? []))
        }
    }
}
