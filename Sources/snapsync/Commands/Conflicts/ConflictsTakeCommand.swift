import ArgumentParser
import SnapshotSync

/// `snapsync conflicts take`: restores an edit that lost.
struct ConflictsTakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Restore an edit that lost, as a new edit made now.",
        discussion: """
            Brings back the edit that lost, as a new edit made now: it wins over the edit that was kept, and the next sync publishes or \
            sends it. Of a row that is there, only the columns that lost are set. The row's timestamp column, if the dataset has one, gets \
            the present time. If the edit is a deletion, the row is deleted again. The entry is then marked as taken.

            A row that lost because another device gave the same integer key to a row of its own (sameKey) gets a new key, if the key is \
            the table's INTEGER PRIMARY KEY. Rows of other tables that refer to it still refer to its old key; change them.

            The command ends with 78 and changes nothing if the entry was taken already, if a UNIQUE value of the edit belongs to another \
            row, if a row that the edit refers to is not there, or if rows refer to the row that it would delete.

            EXAMPLES
              snapsync conflicts take 3 --db phone.db
              snapsync conflicts take 3 --as-new --db phone.db
            """)

    @OptionGroup var number: ConflictNumber
    @Flag(name: .long, help: "Insert the row under a new integer key, whichever row has its old key.")
    var asNew = false
    @Flag(name: .long, help: "Put the edit in place of the row that has its key, also where two devices inserted different rows.")
    var inPlace = false
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard !asNew || !inPlace else { throw ValidationError("--as-new and --in-place exclude each other.") }
    }

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).takeConflict(number.id, to: asNew ? .newKey : inPlace ? .sameKey : .usual)
            let what =
                report.isDeletion
                ? "deleted \(report.dataset) \(report.key) again"
                : "\(report.dataset) \(report.key) is the edit that had lost" + (report.hasNewKey ? ", under a new key" : "")
            try output.printer.done(report, ["\(what); the next sync sends it on"])
        }
    }
}
