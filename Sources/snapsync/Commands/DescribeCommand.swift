import ArgumentParser
import SnapshotSync
import StrictText

/// `snapsync describe`: makes a dataset file from a database.
struct DescribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Print a dataset file for the tables of a database.",
        discussion: """
            Print a dataset file for the tables, as init --tables uses it. describe reads the first rows of each table and changes \
            nothing. Standard error lists the tables that cannot be synced with the reasons, what is left out, and the timestamp columns. \
            To change the description, save and edit the file, and pass it to init --datasets.

            --update adopts the current tables of a database that is already set up: added, renamed or dropped columns, renamed tables, \
            and changes that other devices made to the zone's description. It changes no key and no edit: --create refuses \
            a type of the zone that would. The next sync publishes the description. See docs/datasets.md.

            EXAMPLES
              snapsync describe --db app.db
              snapsync describe --db app.db --tables notes,tags > app.json
              snapsync describe --db app.db --skip cache --timestamp notes=edited_at
              snapsync describe --update --db app.db
              snapsync describe --update --db app.db --tables tags
              snapsync describe --update --db app.db --timestamp notes=none
              snapsync describe --update --db app.db --remove drafts
              snapsync describe --update --db copy.db --create
              snapsync describe --update --db app.db --reader-edits tasks,lists
            """)

    @OptionGroup var database: DatabaseFile
    @Flag(help: "Adopt the current tables in the settings of this database.")
    var update = false
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            With --update: stop syncing this dataset in the zone, or on a reader in this database. Its rows are kept. May be repeated.
            """, valueName: "name"))
    var remove: [String] = []
    @Flag(
        help: """
            With --update: take in the zone's other datasets, create the columns and tables that this database lacks, and declare columns with the \
            zone's types.
            """)
    var create = false
    @OptionGroup var readers: ReaderEditsOption
    @Flag(name: .long, help: "With --reader-edits: accept that two devices may use one integer key for two new rows.")
    var sharedKeys = false
    @OptionGroup var tables: TableOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard update || remove.isEmpty && !create else { throw ValidationError("--remove and --create require --update.") }
        guard update || readers.choice == nil else { throw ValidationError("--reader-edits requires --update. For a new database, pass it to init.") }
        guard !sharedKeys || readers.choice != nil else { throw ValidationError("--shared-keys requires --reader-edits.") }
    }

    func run() async throws {
        let path = try database.path()
        try await output.printer.work("describe") { _ in
            if update {
                let names = remove.flatMap { (list: String) in list.exact.split(separator: ",") }
                let report = try await SyncEngine.ofCommand(database: path).updateDescriptions(
                    DescriptionUpdateRequest(
                        tables: tables.isGiven ? tables.choice(default: []) : nil, removed: names, creates: create, readerEdits: readers.choice,
                        sharesKeys: sharedKeys))
                return try output.printer.done(report, report.lines)
            }
            let report = try SyncEngine.describe(path, tables: tables.choice())
            if output.json { return try output.printer.print(report, []) }
            if let text = report.file.text { try StandardStream.output.write(Printer.escape(json: text)) }
            try StandardStream.error.write(report.remarks.map { VisibleText.escape($0) + "\n" }.joined())
        }
    }
}

extension DescriptionUpdateReport {
    /// The changes that were made, and the next step.
    fileprivate var lines: [String] {
        let others = otherTables.isEmpty ? [] : ["not synced: \(otherTables.joined(separator: ", ")) (add them with --tables)"]
        guard !changes.isEmpty else { return ["\(database): the descriptions are up to date"] + others }
        return changes.map(\.sentence) + others + (willPublish ? ["the next sync publishes it: snapsync sync --db \(database.shellWord)"] : [])
    }
}

extension DescribeReport {
    /// What `describe` and `init` print about the tables.
    var remarks: [String] {
        var lines = unfit.map { "cannot be synced: \($0.sentence)" }
        lines += leftOut.map { "left out: \($0.table)\($0.column.map { ".\($0)" } ?? "") (\($0.reason))" }
        lines += timestampLines
        return lines + notes.map { "note: \($0)" }
    }

    /// The timestamp column of each table.
    var timestampLines: [String] {
        let found = tables.compactMap { table -> (table: String, what: String)? in
            guard table.timestamp != nil || !table.otherTimestamps.isEmpty else { return nil }
            let others = table.otherTimestamps.isEmpty ? "" : "; not \(table.otherTimestamps.joined(separator: ", "))"
            return (table.table, "\(table.timestamp ?? "none")\(table.timestampUnit.map { " (\($0))" } ?? "")\(others)")
        }
        // Many tables often have a timestamp column of the same name, so list those in one line.
        let common = Dictionary(grouping: found, by: \.what.exact).filter { $0.value.count > 3 }
        return found.compactMap { one in
            guard let alike = common[one.what.exact] else { return "timestamp of \(one.table): \(one.what)" }
            return one.table.exact == alike[0].table.exact ? "timestamp of \(alike.map(\.table).joined(separator: ", ")): \(one.what)" : nil
        }
    }
}
