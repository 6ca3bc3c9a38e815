import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync conflicts edit`: changes a held row.
struct ConflictsEditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a held row so that it fits into its table.",
        discussion: """
            Sets columns of a row that conflicts lists as held, and puts it into its table as an edit made now; the next sync publishes or \
            sends it. A column that holds numbers takes a number; null is NULL.

            The command ends with 66 if no such row is held. It ends with 78 and changes nothing if the row still does not fit.

            EXAMPLES
              snapsync conflicts edit customers 9 email=ann@example.org --db shop.db
            """)

    @OptionGroup var row: HeldRowName
    @Argument(help: "What to set: COLUMN=VALUE.")
    var columns: [String]
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func validate() throws { _ = try values }

    private var values: [ExactText: String] {
        get throws {
            var values: [ExactText: String] = [:]
            for column in columns {
                let parts = column.exact.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                guard parts.count == 2 else { throw ValidationError("\(column) is not COLUMN=VALUE.") }
                values[parts[0].exact] = parts[1]
            }
            return values
        }
    }

    func run() async throws {
        let path = try database.path(), values = try values
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).editHeldRow(row.key, in: row.dataset, setting: values)
            try output.printer.done(report, ["\(report.dataset) \(report.key) is in its table; the next sync sends it on"])
        }
    }
}

/// `snapsync conflicts drop`: deletes a held row.
struct ConflictsDropCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Delete a held row.",
        discussion: """
            Deletes a row that conflicts lists as held, on every device, as an edit made now; the next sync publishes or sends it.

            The command ends with 66 if no such row is held.

            EXAMPLES
              snapsync conflicts drop customers 9 --db shop.db
            """)

    @OptionGroup var row: HeldRowName
    @OptionGroup var database: DatabaseFile
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try SyncEngine.ofCommand(database: path).editHeldRow(row.key, in: row.dataset, setting: nil)
            try output.printer.done(report, ["deleted \(report.dataset) \(report.key), which was held; the next sync sends that on"])
        }
    }
}

/// The arguments that name a held row.
struct HeldRowName: ParsableArguments {
    @Argument(help: "The dataset.")
    var dataset: String
    @Argument(help: "The key, as conflicts lists it.")
    var key: String
}
