import ArgumentParser
import SnapshotSync

/// `snapsync conflicts show`: shows both sides of one conflict in full.
struct ConflictsShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an edit that lost, beside the row that was kept.",
        discussion: """
            Shows one entry with all columns: both values of those that lost, and the values that stand of the others. The argument is the \
            entry's number. If no entry has that number, the command ends with 66.

            EXAMPLES
              snapsync conflicts show 3 --db phone.db
              snapsync conflicts show 3 --db phone.db --json | jq '.lost.entity | fromjson'
            """)

    @OptionGroup var number: ConflictNumber
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let entry = try SyncEngine.ofCommand(database: path).conflict(number.id)
            try output.printer.print(entry, entry.lines)
        }
    }
}
