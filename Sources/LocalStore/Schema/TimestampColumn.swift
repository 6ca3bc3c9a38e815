import GRDB
import SnapshotModel
import StrictText

/// Finds the column that says when a row was last changed.
///
/// A name counts only if it says *changed*. A column that says *created*, or a date of the business, does not change with an edit, so last write
/// wins would go by the wrong date. The values must be instants, too: RFC 3339 text, or numbers of one unit (``TimestampUnitFinder``). A foreign
/// key is never the timestamp.
struct TimestampColumn {
    let table: TableColumns
    let kinds: [ExactText: ColumnKind]
    let census: ColumnCensus
    /// The table's columns that refer to other tables, by their folded names.
    let references: Set<ExactText>
    private let finder = TimestampUnitFinder()

    init(table: TableColumns, kinds: [ExactText: ColumnKind], census: ColumnCensus, references: Set<ExactText>) {
        self.table = table
        self.kinds = kinds
        self.census = census
        self.references = references
    }

    /// Names without `_`, spaces and `-`, in lower case, the best first.
    private static let names = [
        "updatedat", "updatedon", "updated", "updatedate", "dateupdated", "updatetime", "timeupdated", "updatedts", "updatedtime", "lastupdated",
        "lastupdatedat", "lastupdate", "lastupdatedts", "modifiedat", "modifiedon", "modified", "modifieddate", "datemodified", "modifiedtime", "timemodified",
        "modificationdate", "modificationtime", "lastmodified", "lastmodifiedat", "lastmodifieddate", "lastmodification", "changedat", "changedon", "changed",
        "lastchanged", "lastchangedat", "lastchange", "changedate", "changetime", "mtime", "lastchangedts", "modifiedts", "lastmodifiedts", "lastmodifiedtime",
        "updatedtimestamp", "modifiedtimestamp", "lastupdatedtime", "lastupdatetime", "mod",
    ]

    /// Whether a column's name says that it holds the time of the last change.
    static func isName(_ name: String) -> Bool { names.contains(plain(name)) }

    /// The name in lower case, without separators and without the `Z` that Core Data puts before its upper-case names.
    private static func plain(_ name: String) -> String {
        let isUpper = !name.utf8.contains { $0 &- UInt8(ascii: "a") < 26 }
        let rest = name.folded.text.utf8.dropFirst(isUpper && name.utf8.first == UInt8(ascii: "Z") ? 1 : 0)
        return String(decoding: rest.filter { !"_ -".utf8.contains($0) }, as: UTF8.self)
    }

    /// The columns with such a name, the best first.
    func candidates() -> [String] {
        Self.names.flatMap { name in table.columns.filter { !$0.isGenerated && $0.keyPlace == 0 && Self.plain($0.name) == name }.map(\.name) }
    }

    /// Why a column cannot be the timestamp, in words; nil if it can.
    ///
    /// - Parameter checksValues: whether to check values too, at most ``sampleSize`` of them.
    func refusal(of column: String, _ db: Database, checksValues: Bool = true) throws -> String? {
        guard let kind = kinds[column.exact] else { return "does not travel" }
        guard !references.contains(column.folded) else { return "refers to another table" }
        if kind == .integer || kind == .real {
            guard table.column(column)?.keyPlace == 0 else { return "is of type \(kind.rawValue) and of the key" }
            guard checksValues else { return nil }
            return unit(of: column) == nil ? "holds numbers that are no dates, or dates by several units" : nil
        }
        guard kind == .text else { return "is of type \(kind.rawValue)" }
        guard checksValues else { return nil }
        if census.rowCount > 0, census.columns[column.exact]?.nulls == census.rowCount { return "is NULL in all rows" }
        let name = column.sqlIdentifier
        let bad = try Int64.fetchOne(
            db,
            sql: """
                SELECT sum(snapsync_instant(v) IS NULL) FROM (SELECT \(name) AS v FROM \(table.name.sqlIdentifier) WHERE \(name) IS NOT NULL LIMIT \(Self.sampleSize))
                """)
        return (bad ?? 0) > 0 ? "holds text that is no RFC 3339 date and time" : nil
    }

    /// The unit of a column's numbers; nil for a column of text, or if the values do not tell it.
    func unit(of column: String) -> TimestampUnit? {
        let units = units(of: column)
        return units.count == 1 ? units[0] : nil
    }

    /// The units that fit the numbers of a column.
    func units(of column: String) -> [TimestampUnit] {
        guard let kind = kinds[column.exact], let counts = census.columns[column.exact] else { return [] }
        return finder.units(of: kind, counts)
    }

    private static let sampleSize = 200
}
