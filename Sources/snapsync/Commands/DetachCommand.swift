import ArgumentParser
import SnapshotSync

/// `snapsync detach`: takes out of a database what `init` put in.
struct DetachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Takes everything of snapsync out of a database.",
        discussion: """
            Drops the tables named snapsync_…; your tables and the cloud stay as they are. Edits that no version has yet wait in the
            table snapsync_detached for the next init of this database with the same zone. The device's name waits in the file
            FILE.snapsync-device beside the database, for the next init of the same file.

            EXAMPLE
              snapsync detach --db phone.db
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).detach()
            try output.printer.print(report, report.lines)
        }
    }
}

extension DetachReport {
    /// What was left as it was, and what waits.
    fileprivate var lines: [String] {
        ["\(database) is no longer part of zone \(zone); its tables and the cloud are as they were"]
            + (keptChanges > 0
                ? [
                    "  \(Format.count(keptChanges)) edit\(keptChanges == 1 ? " that no version has waits" : "s that no version has wait") for the next init of this database with zone \(zone)"
                ] : [])
    }
}
