import ArgumentParser
import SnapshotSync

/// The options for tables that are described from the database, for `describe` and `init`.
struct TableOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            """
            Describe the tables from the database: all, or names with commas between them, one that holds a comma, or is named all, in double quotes. Default: with describe all; with init what the \
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

    /// The chosen tables.
    ///
    /// - Parameter others: the tables if none of them are named or left out; nil for all.
    func choice(default others: [String]? = nil) -> TableChoice {
        let chosen = TableNames(tables)
        let unnamed = tables.isEmpty && skip.isEmpty ? others : nil
        return TableChoice(
            tables: chosen.names.isEmpty || chosen.word == "all" ? unnamed : chosen.names, skipped: TableNames(skip).names,
            timestamps: timestamp.compactMap(Self.parts).map { .init(table: $0.table, column: $0.column == "none" ? nil : $0.column) })
    }

    // Split at the last `=`: a table's name may contain one, a column's name rarely does.
    private static func parts(_ text: String) -> (table: String, column: String)? {
        guard let sign = text.utf8.lastIndex(of: UInt8(ascii: "=")), sign != text.startIndex, text.utf8.index(after: sign) != text.endIndex else { return nil }
        return (String(text[..<sign]), String(text[text.utf8.index(after: sign)...]))
    }
}
