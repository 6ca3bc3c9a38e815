import ArgumentParser
import CommandSupport
import MaterializedViews
import SnapshotSync
import StrictText

/// `snapsync tables`: shows and changes which tables are synced.
struct TablesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tables",
        abstract: "List the synced tables, adopt changes of their columns, add and remove tables.",
        discussion: """
            See docs/datasets.md.

            EXAMPLES
              snapsync tables app.db
              snapsync tables adopt app.db
              snapsync tables add app.db tags
              snapsync tables remove app.db drafts
              snapsync tables edits app.db tasks lists
              snapsync tables describe app.db > app.json
              snapsync tables sql /mnt/share/app | sqlite3 copy.db
            """,
        subcommands: [
            TablesListCommand.self, TablesAdoptCommand.self, TablesAddCommand.self, TablesRemoveCommand.self, TablesEditsCommand.self,
            TablesDescribeCommand.self, TablesSQLCommand.self,
        ],
        defaultSubcommand: TablesListCommand.self)
}

/// `snapsync tables list`: lists the synced tables, and those that are not.
struct TablesListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the tables that are synced, and those that are not.",
        discussion: """
            In a database that init has not set up, list what init would sync and leave out, and why.

            EXAMPLES
              snapsync tables app.db
              snapsync tables list app.db --json
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.run {
            let report = try await SyncEngine.tables(of: path)
            try output.printer.print(report, report.lines)
        }
    }
}

extension TablesReport {
    fileprivate var lines: [String] {
        tables.map { table in
            let name = table.dataset.exact == table.table.exact ? table.table : "\(table.table) (dataset \(table.dataset))"
            return "\(name): key \(table.key.joined(separator: ", ")), \(Format.count(table.columns, "column"))"
                + (table.timestamp.map { ", timestamp \($0)" } ?? "") + (table.readersEdit ? ", readers may edit" : "")
        }
            + (notSynced.isEmpty ? [] : ["not synced: \(notSynced.joined(separator: ", "))"])
    }
}

/// The options of the commands that change which tables are synced.
struct DescriptionOptions: ParsableArguments {
    @OptionGroup var database: DatabaseFile
    @OptionGroup(title: "Common options") var output: OutputOptions

    func update(_ request: DescriptionUpdateRequest) async throws { try await run { try await $0.updateDescriptions(request) } }

    func run(_ body: (SyncEngine) async throws -> DescriptionUpdateReport) async throws {
        let path = try database.path()
        try await output.printer.work("tables") { _ in
            let report = try await body(SyncEngine.ofCommand(database: path))
            try output.printer.done(report, report.lines)
        }
    }
}

/// `snapsync tables adopt`: takes in what changed in the synced tables.
struct TablesAdoptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Adopt added, renamed and dropped columns, renamed tables, and changes of the zone's description.",
        discussion: """
            sync adopts what adds something by itself. adopt also takes in what could lose something, such as a dropped column, and what \
            other devices changed in the zone's description. It changes no key and no edit: --create refuses a type of the zone that would. \
            The next sync publishes the description. See docs/datasets.md.

            EXAMPLES
              snapsync tables adopt app.db
              snapsync tables adopt app.db --timestamp notes=none
              snapsync tables adopt copy.db --create
            """)

    @OptionGroup var options: DescriptionOptions
    @Flag(help: "Take in the zone's other datasets, create the columns and tables that this database lacks, and declare columns with the zone's types.")
    var create = false
    @OptionGroup var timestamps: TimestampOption

    func run() async throws {
        let tables = timestamps.timestamp.isEmpty ? nil : TableChoice(tables: [], timestamps: timestamps.choice)
        try await options.update(DescriptionUpdateRequest(tables: tables, creates: create))
    }
}

/// `snapsync tables add`: syncs further tables.
struct TablesAddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Sync further tables: of this database, or on a reader of the zone.",
        discussion: """
            On a device that publishes, add tables of this database to the zone. Other devices take them in with tables adopt --create. On a \
            reader, add tables of the zone, which are created if they are missing.

            EXAMPLES
              snapsync tables add app.db tags
              snapsync tables add app.db tags notes --timestamp notes=edited_at
              snapsync tables add app.db all --exclude cache
              snapsync tables add b.db orders --from 'SELECT * FROM orders WHERE b = 7'
            """)

    @OptionGroup var options: DescriptionOptions
    @Argument(help: "The tables: names, or all.")
    var tables: [String]
    @Option(name: .long, help: ArgumentHelp("With all: leave out these tables: names separated by commas. May be repeated.", valueName: "a,b"))
    var exclude: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp("In an audience's database: fill the table from this query on the source, or from now on from another one.", valueName: "select"))
    var from: String?
    @OptionGroup var keys: ViewKeyOption
    @OptionGroup var timestamps: TimestampOption

    func validate() throws {
        guard from == nil || TableNames(tables).names.count == 1 && exclude.isEmpty && timestamps.timestamp.isEmpty else {
            throw ValidationError("--from requires one table, and cannot be combined with --exclude or --timestamp.")
        }
        guard from != nil || keys.key.isEmpty else { throw ValidationError("--key requires --from.") }
    }

    func run() async throws {
        let chosen = TableNames(tables)
        if let from, let name = chosen.names.first {
            return try await options.run { try await $0.define(ViewQuery(table: name, query: from, key: keys.key(of: name))) }
        }
        let choice = TableChoice(
            tables: chosen.word == "all" ? nil : chosen.names, skipped: TableNames(exclude).names, timestamps: timestamps.choice)
        try await options.update(DescriptionUpdateRequest(tables: choice))
    }
}

/// `snapsync tables remove`: stops syncing tables.
struct TablesRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Stop syncing datasets: in the zone, or on a reader in this database.",
        discussion: """
            The rows are kept in every database. The next sync publishes the description.

            EXAMPLE
              snapsync tables remove app.db drafts
            """)

    @OptionGroup var options: DescriptionOptions
    @Argument(help: "The tables or datasets, as tables list prints them.")
    var names: [String]

    func run() async throws {
        try await options.update(DescriptionUpdateRequest(removed: TableNames(names).names))
    }
}

/// `snapsync tables edits`: sets which tables readers may edit.
struct TablesEditsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edits",
        abstract: "Set the tables whose rows readers may add, change and delete.",
        discussion: """
            See docs/readers.md.

            EXAMPLES
              snapsync tables edits app.db tasks lists
              snapsync tables edits app.db none
            """)

    @OptionGroup var options: DescriptionOptions
    @Argument(help: "The tables: names, all or none.")
    var tables: [String]
    @Flag(name: .long, help: "Accept that two devices may use one integer key for two new rows.")
    var sharedKeys = false

    func run() async throws {
        try await options.update(DescriptionUpdateRequest(readerEdits: ReaderEdits(tables), sharesKeys: sharedKeys))
    }
}

/// `snapsync tables describe`: makes a dataset file from a database.
struct TablesDescribeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "describe",
        abstract: "Print a dataset file for the tables of a database.",
        discussion: """
            Print a dataset file for the tables, as init uses it, and change nothing. Standard error lists the tables that cannot be synced \
            with the reasons, what is left out, and the timestamp columns. To change the description, save and edit the file, and pass it to \
            init --datasets. See docs/datasets.md.

            EXAMPLES
              snapsync tables describe app.db
              snapsync tables describe app.db --tables notes,tags > app.json
              snapsync tables describe app.db --exclude cache --timestamp notes=edited_at
            """)

    @OptionGroup var database: DatabaseFile
    @OptionGroup var tables: TableOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        let path = try database.path()
        try await output.printer.work("describe") { _ in
            let report = try SyncEngine.describe(path, tables: tables.choice())
            if output.json { return try output.printer.print(report, []) }
            if let text = report.file.text { try StandardStream.output.write(Printer.escape(json: text)) }
            try StandardStream.error.write(report.remarks.map { VisibleText.escape($0) + "\n" }.joined())
        }
    }
}

/// `snapsync tables sql`: prints the SQL text that a zone keeps of its tables.
struct TablesSQLCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sql",
        abstract: "Print the SQL of a zone's tables, indexes, views and triggers.",
        discussion: """
            Print the SQL of the tables, indexes, views and triggers of the publisher, in an order that sqlite3 can run. Statements that \
            need tables or functions that the zone lacks are printed as comments with the reason. Read the SQL before you run it: anyone \
            who can publish in the zone can change it. A text with other statements is refused. join --with-schema runs it.

            EXAMPLES
              snapsync tables sql app.db
              snapsync tables sql /mnt/share/app | sqlite3 copy.db
            """)

    @OptionGroup var look: LookOptions
    @OptionGroup(title: "Common options") var output: OutputOptions

    func run() async throws {
        try await output.printer.run {
            let report = try await look.inspector().schema()
            guard !output.json, !StandardStream.output.isTerminal else {
                return try output.printer.print(report, report.script.utf8.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) })
            }
            // A file or pipe gets the unchanged bytes.
            try StandardStream.output.write(report.script)
        }
    }
}

extension DescriptionUpdateReport {
    /// The changes that were made, and the next step.
    fileprivate var lines: [String] {
        let others =
            otherTables.isEmpty
            ? [] : ["not synced: \(otherTables.joined(separator: ", ")); \(HintCommands().complete("to add one: snapsync tables add")) TABLE"]
        guard !changes.isEmpty else { return ["\(database): the descriptions are up to date"] + others }
        return changes.map(\.sentence) + others + (willPublish ? ["the next sync publishes it: snapsync sync \(database.shellWord)"] : [])
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
