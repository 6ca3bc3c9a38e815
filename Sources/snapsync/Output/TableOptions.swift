import ArgumentParser
import SnapshotSync

/// Which tables are described from the database: for `describe` and `init`.
struct TableOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Describe the tables from the database: all, or names with commas between them. Default: with describe all; with init what the \
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

    /// What was chosen; all tables unless `--tables` names some.
    func choice() -> TableChoice {
        let names = Self.names(tables)
        return TableChoice(
            tables: names.isEmpty || names == ["all"] ? nil : names, skipped: Self.names(skip),
            timestamps: timestamp.compactMap(Self.parts).map { .init(table: $0.table, column: $0.column == "none" ? nil : $0.column) })
    }

    private static func names(_ lists: [String]) -> [String] {
        lists.flatMap { (list: String) in list.split(separator: ",").map { String($0.drop { $0 == " " }) } }
    }

    // A table's name may hold the sign, a column's hardly does.
    private static func parts(_ text: String) -> (table: String, column: String)? {
        guard let sign = text.lastIndex(of: "="), sign != text.startIndex, text.index(after: sign) != text.endIndex else { return nil }
        return (String(text[..<sign]), String(text[text.index(after: sign)...]))
    }
}
