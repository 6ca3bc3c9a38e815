import GRDB
import SnapshotModel
import StrictText

/// Counts what the rows of a table hold in each column.
///
/// One SELECT reads the table once; a table of more than ``columnsOfOneSelect`` columns needs one SELECT for each group of that many. The census
/// counts only the storage classes that a column's affinity permits. It reads values only of columns that are declared as JSON or BOOLEAN, that
/// may belong to the key, or that may be the timestamp.
struct ColumnCensus {
    /// How many rows the table has.
    let rowCount: Int64
    private(set) var columns: [ExactText: Counts] = [:]

    struct Counts {
        var nulls: Int64 = 0
        var integers: Int64 = 0
        var reals: Int64 = 0
        var texts: Int64 = 0
        var blobs: Int64 = 0
        /// How many values of a column that is declared as BOOLEAN are neither 0 nor 1.
        var otherThanBooleans: Int64 = 0
        /// How many texts of a column that is declared as JSON are not JSON.
        var otherThanJSON: Int64 = 0

        /// The length of the longest text or BLOB in bytes.
        var mostBytes: Int64 = 0
        /// How many texts are not UTF-8, in a column that may belong to the key.
        var otherThanUTF8: Int64 = 0
        /// Whether a number is infinite, in a column that may belong to the key.
        var hasInfinite = false

        /// The least and the greatest number; nil if they were not requested or the column holds no numbers.
        var least: Double?
        var greatest: Double?

        /// Whether a row has a value in the column.
        var hasValues: Bool { integers > 0 || reals > 0 || texts > 0 || blobs > 0 }
    }

    /// Reads the table and counts.
    ///
    /// - Parameter isRanged: returns whether the least and the greatest number of a column are wanted.
    init(_ db: Database, _ table: TableColumns, ranging isRanged: (TableColumns.Column) -> Bool = { _ in false }) throws {
        let wanted = table.columns.filter { !$0.isGenerated }
        // Columns that may belong to the key: those of the PRIMARY KEY and of UNIQUE indexes.
        let inIndexes = Set(try UniqueIndex.all(db, of: table.name).flatMap { $0.columns.compactMap { $0?.folded } })
        func mayBeKey(_ column: TableColumns.Column) -> Bool { column.keyPlace > 0 || inIndexes.contains(column.name.folded) }
        db.add(function: Self.strictJSON)
        defer { db.remove(function: Self.strictJSON) }
        let counts = wanted.map { column -> String in
            let name = column.name.sqlIdentifier
            func total(_ condition: String) -> String { "ifnull(sum(\(condition)), 0)" }
            func type(_ name: String, where isPossible: Bool) -> String { isPossible ? total("typeof(\(column.name.sqlIdentifier)) = '\(name)'") : "0" }
            func range(_ function: String, _ name: String) -> String {
                "ifnull(\(function)(CASE WHEN typeof(\(name)) IN ('integer', 'real') THEN \(name) END), '')"
            }
            let affinity = column.affinity
            return [
                total("\(name) IS NULL"), type("integer", where: affinity != .text && affinity != .real),
                type("real", where: affinity != .text), type("text", where: true), type("blob", where: true),
                column.isDeclaredBoolean ? total("typeof(\(name)) = 'integer' AND \(name) NOT IN (0, 1)") : "0",
                column.isDeclaredJSON ? total("typeof(\(name)) = 'text' AND NOT snapsync_strict_json(\(name))") : "0",
                // The column's own collation may exist only in the application.
                "ifnull(max(CASE WHEN typeof(\(name)) IN ('text', 'blob') THEN length(CAST(\(name) AS BLOB)) END COLLATE BINARY), 0)",
                mayBeKey(column) ? total("typeof(\(name)) = 'real' AND \(name) COLLATE BINARY IN (9e999, -9e999)") : "0",
                mayBeKey(column) ? total("typeof(\(name)) = 'text' AND NOT snapsync_is_utf8(\(name))") : "0",
                isRanged(column) ? range("min", name) : "''", isRanged(column) ? range("max", name) : "''",
            ].joined(separator: " || ',' || ")
        }
        // SQLite permits at most 2,000 aggregates in one SELECT.
        var count: Int64 = 0
        for start in stride(from: 0, to: max(counts.count, 1), by: Self.columnsOfOneSelect) {
            let some = start..<min(start + Self.columnsOfOneSelect, counts.count)
            let row = try Row.fetchOne(db, sql: "SELECT \((["count(*)"] + counts[some]).joined(separator: ", ")) FROM \(table.name.sqlIdentifier)")
            count = row?[0] ?? 0
            for index in some {
                let parts = (row?[index - start + 1] as String? ?? "").utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map {
                    String(Substring($0))
                }
                let numbers = parts.prefix(10).compactMap { Int64($0) }
                guard numbers.count == 10, parts.count == 12 else { continue }
                columns[wanted[index].name.exact] = Counts(
                    nulls: numbers[0], integers: numbers[1], reals: numbers[2], texts: numbers[3], blobs: numbers[4], otherThanBooleans: numbers[5],
                    otherThanJSON: numbers[6], mostBytes: numbers[7], otherThanUTF8: numbers[9], hasInfinite: numbers[8] > 0,
                    least: Double(parts[10]), greatest: Double(parts[11]))
            }
        }
        rowCount = count
    }

    /// How many columns one SELECT counts.
    private static let columnsOfOneSelect = 180

    private static let strictJSON = DatabaseFunction("snapsync_strict_json", argumentCount: 1, pure: true) { values in
        guard case .string(let value) = values[0].storage else { return false }
        var text = value
        return text.withUTF8 { (try? StrictJSON.check(UnsafeRawBufferPointer($0))) != nil }
    }
}
