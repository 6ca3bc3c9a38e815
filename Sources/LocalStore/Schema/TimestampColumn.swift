import GRDB
import SnapshotModel
import StrictText

/// Recognises the column that says when a row was last changed.
///
/// A name is taken only if it says *changed*, not if it says *created* or names a date of the business: last write wins would then go by a date that no
/// edit changes. The values must be instants, too.
struct TimestampColumn {
    let table: TableColumns
    let kinds: [String: ColumnKind]
    let census: ColumnCensus

    /// Names without `_`, spaces and `-`, in lower case; the first one that a table has is taken.
    private static let names = [
        "updatedat", "updatedon", "updated", "updatedate", "dateupdated", "updatetime", "timeupdated", "updatedts", "updatedtime", "lastupdated",
        "lastupdatedat", "lastupdate", "lastupdatedts", "modifiedat", "modifiedon", "modified", "modifieddate", "datemodified", "modifiedtime", "timemodified",
        "modificationdate", "modificationtime", "lastmodified", "lastmodifiedat", "lastmodifieddate", "lastmodification", "changedat", "changedon", "changed",
        "lastchanged", "lastchangedat", "lastchange", "changedate", "changetime", "mtime",
    ]

    /// Whether a column's name says that it holds the time of the last change.
    static func isName(_ name: String) -> Bool { names.contains(plain(name)) }

    private static func plain(_ name: String) -> String { name.asciiLowercased.filter { $0 != "_" && $0 != " " && $0 != "-" } }

    /// The columns with such a name, the best first.
    func candidates() -> [String] {
        Self.names.flatMap { name in table.columns.filter { !$0.isGenerated && $0.keyPlace == 0 && Self.plain($0.name) == name }.map(\.name) }
    }

    /// Why a column cannot be the timestamp; nil if it can.
    ///
    /// - Parameter checksValues: whether to look at values, too: as many as ``sampleSize``.
    func refusal(of column: String, _ db: Database, checksValues: Bool = true) throws -> String? {
        guard let kind = kinds[column] else { return "does not travel" }
        guard kind == .text else { return "is of type \(kind.rawValue)" }
        guard checksValues else { return nil }
        if census.rowCount > 0, census.columns[column]?.nulls == census.rowCount { return "is NULL in all rows" }
        let name = column.sqlIdentifier
        let bad = try Int64.fetchOne(
            db,
            sql: """
                SELECT sum(snapsync_instant(v) IS NULL) FROM (SELECT \(name) AS v FROM \(table.name.sqlIdentifier) WHERE \(name) IS NOT NULL LIMIT \(Self.sampleSize))
                """)
        return (bad ?? 0) > 0 ? "holds text that is no RFC 3339 date and time" : nil
    }

    private static let sampleSize = 200
}
