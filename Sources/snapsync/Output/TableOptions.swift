import ArgumentParser
import CommandSupport
import SnapshotSync

/// The options for tables that are described from the database, for `init` and `tables describe`.
struct TableOptions: ParsableArguments {
    @OptionGroup var chosen: TableNameOptions
    @OptionGroup var timestamps: TimestampOption

    var isGiven: Bool { chosen.isGiven || !timestamps.timestamp.isEmpty }

    /// The chosen tables.
    func choice() -> TableChoice {
        var choice = chosen.choice
        choice.timestamps = timestamps.choice
        return choice
    }
}

/// The options for the names of the tables to sync, for `init`, `describe` and `join`.
struct TableNameOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            The tables to sync: all, or names separated by commas. Put a name in double quotes if it contains a comma or is all. Default: in a \
            new zone all, otherwise those of the zone.
            """, valueName: "all|a,b"))
    var tables: [String] = []
    @Option(name: .long, help: ArgumentHelp("Leave out these tables: names separated by commas. May be repeated.", valueName: "a,b"))
    var exclude: [String] = []

    var isGiven: Bool { !tables.isEmpty || !exclude.isEmpty }

    func validate() throws {
        guard !tables.contains(where: { $0.isEmpty }) else { throw ValidationError("--tables requires all, or the names of tables.") }
    }

    var choice: TableChoice {
        let chosen = TableNames(tables)
        return TableChoice(tables: chosen.names.isEmpty || chosen.word == "all" ? nil : chosen.names, skipped: TableNames(exclude).names)
    }
}

/// The option for the columns with the time of a row's last change.
struct TimestampOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            TABLE=COLUMN sets the column with the time of a row's last change, TABLE=COLUMN:UNIT also the unit of its numbers, and \
            TABLE=none no column. May be repeated. Default: detected by name and values.
            """,
            valueName: "table=column|none"))
    var timestamp: [String] = []

    func validate() throws {
        for text in timestamp where Self.parts(text) == nil {
            throw ValidationError("--timestamp requires a table and its column, as in notes=edited_at, or notes=none.")
        }
    }

    var choice: [TableChoice.Timestamp] {
        timestamp.compactMap(Self.parts).map { .init(table: $0.table, column: $0.column == "none" ? nil : $0.column) }
    }

    // Split at the last `=`: a table's name may contain one, a column's name rarely does.
    private static func parts(_ text: String) -> (table: String, column: String)? {
        guard let sign = text.utf8.lastIndex(of: UInt8(ascii: "=")), sign != text.startIndex, text.utf8.index(after: sign) != text.endIndex else { return nil }
        return (String(text[..<sign]), String(text[text.utf8.index(after: sign)...]))
    }
}

/// The option for the keys of tables that are filled from queries.
struct ViewKeyOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "With --from: the columns of a table's key. May be repeated. Default: the primary key of a table of the source, if its columns are selected.",
            valueName: "table=a,b"))
    var key: [String] = []

    func validate() throws {
        for text in key where Self.parts(text).map({ TableNames([$0.rest]).names.isEmpty }) ?? true {
            throw ValidationError("--key requires a table and its key, as in totals=shop,day.")
        }
    }

    /// The columns of a table's key; nil if none are given.
    func key(of table: String) -> [String]? {
        key.compactMap(Self.parts).first { $0.table.folded == table.folded }.map { TableNames([$0.rest]).names }
    }

    /// What stands before the first `=`, and after it.
    static func parts(_ text: String) -> (table: String, rest: String)? {
        guard let sign = text.utf8.firstIndex(of: UInt8(ascii: "=")), sign != text.startIndex, text.utf8.index(after: sign) != text.endIndex else { return nil }
        return (String(text[..<sign]), String(text[text.utf8.index(after: sign)...]))
    }
}

/// The option for the tables whose rows readers may edit, for `init`.
struct ReaderEditsOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The tables whose rows readers may add, change and delete: all, none, or names as in --tables (docs/readers.md). Default: none.",
            valueName: "all|none|a,b"))
    var readerEdits: String?

    func validate() throws {
        guard readerEdits?.isEmpty != true else { throw ValidationError("--reader-edits requires all, none, or the names of tables.") }
    }

    /// The chosen value; nil if the option is not given.
    var choice: ReaderEdits? { readerEdits.map { ReaderEdits([$0]) } }
}

extension ReaderEdits {
    /// - Parameter lists: `all`, `none`, or lists of names as ``TableNames`` takes them.
    init(_ lists: [String]) {
        let chosen = TableNames(lists)
        self =
            switch chosen.word {
            case "all": .all
            case "none": .none
            default: .tables(chosen.names)
            }
    }
}

/// The names of tables in comma-separated lists.
///
/// A name in double quotes, as in SQL, may contain commas. In quotes, `all` and `none` are names like any other.
struct TableNames {
    /// The names, without quotes.
    private(set) var names: [String] = []
    /// The word that stands alone and unquoted; nil if there are several names, or a quoted one.
    private(set) var word: String?

    init(_ lists: [String]) {
        var quoted = false
        for list in lists {
            var name = String.UnicodeScalarView(), isQuoted = false, wasQuoted = false
            func end() {
                let text = String(wasQuoted ? name : String.UnicodeScalarView(name.drop { $0 == " " }))
                if wasQuoted || !text.isEmpty { names.append(text) }
                quoted = quoted || wasQuoted
                (name, wasQuoted) = (.init(), false)
            }
            // By scalars: a mark that combines with a quotation mark or comma takes nothing from it.
            var rest = list.unicodeScalars[...]
            while let scalar = rest.popFirst() {
                switch scalar {
                case "\"" where isQuoted && rest.first == "\"":
                    name.append("\"")
                    rest.removeFirst()
                case "\"" where isQuoted: isQuoted = false
                case "\"" where name.allSatisfy { $0 == " " } && !wasQuoted: (name, isQuoted, wasQuoted) = (.init(), true, true)
                case "," where !isQuoted: end()
                default: name.append(scalar)
                }
            }
            end()
        }
        if names.count == 1, !quoted { word = names[0] }
    }
}
