import ArgumentParser
import CloudStore
import CommandSupport
import SnapshotSync
import StrictText

/// `snapsync detach`: removes from a database what `init` added.
struct DetachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Remove snapsync's triggers and tables from a database.",
        discussion: """
            Remove the tables and triggers named snapsync_…. Your tables and the shared folder do not change. Edits that are not published \
            are remembered in the table snapsync_detached, by key and time. If you set the database up again in the same zone, the first \
            import merges them. join --replace-local drops them. Held rows and open conflicts are written to FILE.snapsync-kept/.

            The device's name is written to FILE.snapsync-device. The next init or join uses it, unless the database is a copy or another database \
            has synced under that name. To keep the name even then, pass --name NAME --take-over. See docs/writers.md.

            EXAMPLE
              snapsync detach phone.db
            """)

    @OptionGroup var options: EngineArguments

    func run() async throws {
        try await options.done { engine, _ in
            let report = try engine.detach()
            return (report, report.lines)
        }
    }
}

extension DetachReport {
    /// What stays unchanged, and which changes are pending.
    fileprivate var lines: [String] {
        guard let zone else { return ["\(database) was not set up for syncing; the triggers that snapsync had left there are removed"] }
        return ["\(database) is no longer part of \(ZoneID(zone).place); its tables and the location are as they were"]
            + (keptChanges > 0
                ? [
                    "  \(Format.count(keptChanges, "edit that no version has waits", or: "edits that no version has wait")) for the next init of this database with \(ZoneID(zone).place)"
                ] : []) + keptFiles.map { "  held rows, or edits in open conflicts, are kept in \($0)" }
    }
}
