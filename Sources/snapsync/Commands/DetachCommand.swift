import ArgumentParser
import SnapshotSync

/// `snapsync detach`: takes out of a database what `init` put in.
struct DetachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Takes everything of snapsync out of a database.",
        discussion: """
            Drops the tables named snapsync_…; your tables and the cloud stay as they are.

            EXAMPLE
              snapsync detach --db phone.db
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine(database: path).detach()
            try output.printer.print(report, ["\(path) is no longer part of zone \(report.zone); its tables and the cloud are as they were"])
        }
    }
}
