import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync detach`: removes from a database what `init` added.
struct DetachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detach",
        abstract: "Remove snapsync's triggers and tables from a database.",
        discussion: """
            Removes the tables and triggers named snapsync_…. Your tables and the cloud stay as \
            they are. The table snapsync_detached keeps the keys and instants (no values) of edits that no version has yet. The next init \
            of this database with the same zone tracks them again; the first import then merges them, and they are published. \
            init --replace drops them. detach writes held rows and open entries of the conflict journal to FILE.snapsync-kept/.

            detach writes the device's name to the file FILE.snapsync-device beside the database. The next init reads the file and removes \
            it. In the same zone the database is the same device again, without --device and --take-over; in another zone it takes the \
            name if no device there has it. init says so, or warns that the database gets another name. It gets another name if

            - the database file is a copy of the detached one, on this machine or another one. The note holds the number of the file (its \
            inode), which stays when the file is moved within its file system and which a copy does not have;

            - another database has synced under the name since. If two copies have the same file number, the first that syncs keeps the \
            name. The second one notices it at init or at its next sync, takes another name, and says so (docs/writers.md).

            To keep the name all the same: init --device NAME --take-over.

            EXAMPLE
              snapsync detach --db phone.db
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).detach()
            try output.printer.done(report, report.lines)
        }
    }
}

extension DetachReport {
    /// What stays unchanged, and which changes are pending.
    fileprivate var lines: [String] {
        guard let zone else { return ["\(database) was not set up for syncing; the triggers that snapsync had left there are removed"] }
        return ["\(database) is no longer part of zone \(zone); its tables and the cloud are as they were"]
            + (keptChanges > 0
                ? [
                    "  \(Format.count(keptChanges, "edit that no version has waits", "edits that no version has wait")) for the next init of this database with zone \(zone)"
                ] : [])
    }
}
