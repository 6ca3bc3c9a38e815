import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync conflicts clear`: closes entries of the conflict journal.
struct ConflictsClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Dismiss one conflict, or all of them.",
        discussion: """
            Clears the entry whose number is the argument, or every open entry. The rows stay as they are, and status does not count the \
            entry any longer.

            EXAMPLES
              snapsync conflicts clear --db phone.db
              snapsync conflicts clear 3 --db phone.db
            """)

    @Argument(help: "The number, as conflicts lists it; all if it is left out.", completion: Completions.conflicts)
    var id: Int64?
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).clearConflicts(id)
            try output.printer.done(report, ["cleared \(Format.count(report.cleared, "conflict"))"])
        }
    }
}
