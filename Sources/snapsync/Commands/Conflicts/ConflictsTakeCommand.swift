import ArgumentParser
import SnapshotSync

/// `snapsync conflicts take`: brings an edit back that lost.
struct ConflictsTakeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Brings an edit that lost back, as a new edit made now.",
        discussion: """
            The edit takes the place of the row that has its key, and the next sync publishes it or sends it. A row that lost
            because another device gave the same integer key to a row of its own comes back under a new key; with --in-place it
            takes the other row's place.

            EXAMPLES
              snapsync conflicts take 3 --db phone.db
              snapsync conflicts take 3 --as-new --db phone.db
            """)

    @OptionGroup var number: ConflictNumber
    @Flag(name: .long, help: "Insert the row under a new integer key, whatever has its old key.")
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
            try output.printer.print(report, ["\(what); the next sync sends it on"])
        }
    }
}
