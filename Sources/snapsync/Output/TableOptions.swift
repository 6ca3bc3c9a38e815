import ArgumentParser
import SnapshotSync

/// The options for tables that are described from the database, for `describe` and `init`.
struct TableOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Describe the tables from the database: all, or names with commas between them, one that holds a comma in double quotes. Default: with describe all; with init what the \
            zone describes, or for the first publisher the built-in buckets and notifications; with describe --update none.
            """, valueName: "all|a,b"))
    var tables: [String] = []
    @Option(name: .long, help: ArgumentHelp("Leave these tables out; names with commas between them; may be given several times.", valueName: "a,b"))
    var skip: [String] = []
    @Option(
        name: .long,
        help: ArgumentHelp(
            "TABLE=COLUMN, the column that says when a row of the table was last changed, TABLE=COLUMN:UNIT for a column of numbers whose unit the rows do not say, or TABLE=none; may be given several times. Default: the column that is recognised by its name and values.",
            valueName: "table=column|none"))
    var timestamp: [String] = []

    /// Whether any of the options was given.
    var isGiven: Bool { !tables.isEmpty || !skip.isEmpty || !timestamp.isEmpty }

    func validate() throws {
        guard !tables.contains(where: { $0.isEmpty }) else { throw ValidationError("--tables takes all, or the names of tables.") }
        for text in timestamp where Self.parts(text) == nil {
            throw ValidationError("--timestamp takes a table and its column, as in notes=edited_at, or notes=none.")
        }
    }

    /// The chosen tables; all tables unless `--tables` names some.
    func choice() -> TableChoice {
        let names = Self.names(tables)
        return TableChoice(
            tables: names.isEmpty || names == ["all"] ? nil : names, skipped: Self.names(skip),
            timestamps: timestamp.compactMap(Self.parts).map { .init(table: $0.table, column: $0.column == "none" ? nil : $0.column) })
    }

    /// The names in comma-separated lists. A name in double quotes, as in SQL, may contain commas.
    private static func names(_ lists: [String]) -> [String] {
        lists.flatMap { (list: String) -> [String] in
            var names: [String] = [], name = "", isQuoted = false, wasQuoted = false
            func end() {
                let text = wasQuoted ? name : String(name.drop { $0 == " " })
                if !text.isEmpty { names.append(text) }
                (name, wasQuoted) = ("", false)
            }
            var rest = list[...]
            while let character = rest.popFirst() {
                switch character {
                case "\"" where isQuoted && rest.first == "\"":
                    name.append("\"")
                    rest.removeFirst()
                case "\"" where isQuoted: isQuoted = false
                case "\"" where name.allSatisfy { $0 == " " } && !wasQuoted: (name, isQuoted, wasQuoted) = ("", true, true)
                case "," where !isQuoted: end()
                default: name.append(character)
                }
            }
            end()
            return names
        }
    }

    // Split at the last `=`: a table's name may contain one, a column's name rarely does.
    private static func parts(_ text: String) -> (table: String, column: String)? {
        guard let sign = text.lastIndex(of: "="), sign != text.startIndex, text.index(after: sign) != text.endIndex else { return nil }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }
}
