import GRDB
import SnapshotModel
import StrictText

/// What the rows of a table hold in each column.
///
/// One SELECT reads the table once. It counts only what a column's affinity permits, and reads values only of columns that are declared as JSON or BOOLEAN, or
/// that may be the timestamp.
struct ColumnCensus {
    /// How many rows the table has.
    let rowCount: Int64
    private(set) var columns: [String: Counts] = [:]

    struct Counts {
        var nulls: Int64 = 0
        var integers: Int64 = 0
        var reals: Int64 = 0
        var texts: Int64 = 0
        var blobs: Int64 = 0
        /// How many values of a column that is declared as BOOLEAN are neither 0 nor 1.
        var otherThanBooleans: Int64 = 0
        /// How many texts of a column that is declared as JSON are no JSON.
        var otherThanJSON: Int64 = 0

        /// The least and the greatest number, in a column of which they were asked for and that holds numbers.
        var least: Double?
        var greatest: Double?

        /// Whether a row has a value in it.
        var hasValues: Bool { integers > 0 || reals > 0 || texts > 0 || blobs > 0 }
    }

    /// Counts.
    ///
    /// - Parameter isRanged: the columns of which the least and the greatest number are wanted.
    init(_ db: Database, _ table: TableColumns, ranging isRanged: (TableColumns.Column) -> Bool = { _ in false }) throws {
        let wanted = table.columns.filter { !$0.isGenerated }
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
                isRanged(column) ? range("min", name) : "''", isRanged(column) ? range("max", name) : "''",
            ].joined(separator: " || ',' || ")
        }
        // One result column for each column of the table: as many as a SELECT may have.
        let row = try Row.fetchOne(db, sql: "SELECT \((["count(*)"] + counts).joined(separator: ", ")) FROM \(table.name.sqlIdentifier)")
        rowCount = row?[0] ?? 0
        for (index, column) in wanted.enumerated() {
            let parts = (row?[index + 1] as String? ?? "").split(separator: ",", omittingEmptySubsequences: false)
            let numbers = parts.prefix(7).compactMap { Int64($0) }
            guard numbers.count == 7, parts.count == 9 else { continue }
            columns[column.name] = Counts(
                nulls: numbers[0], integers: numbers[1], reals: numbers[2], texts: numbers[3], blobs: numbers[4], otherThanBooleans: numbers[5],
                otherThanJSON: numbers[6], least: Double(parts[7]), greatest: Double(parts[8]))
        }
    }

    private static let strictJSON = DatabaseFunction("snapsync_strict_json", argumentCount: 1, pure: true) { values in
        guard case .string(let value) = values[0].storage else { return false }
        var text = value
        return text.withUTF8 { (try? StrictJSON.check(UnsafeRawBufferPointer($0))) != nil }
    }
}
