import SnapshotModel

/// The timestamp column that the caller named for a table: `COLUMN`, or `COLUMN:UNIT` for a column of numbers.
struct GivenTimestamp {
    /// The name of the column, spelled as in the table.
    let column: String
    /// What its numbers count; nil if the caller did not say.
    let unit: TimestampUnit?

    /// Finds the column.
    ///
    /// - Parameter path: the database, for errors.
    /// - Throws: ``LocalStoreError`` with `.schemaMismatch` if the table has no such column, or if there is no such unit.
    init(_ text: String, in table: TableColumns, at path: String) throws {
        if let column = table.column(text) {
            (self.column, unit) = (column.name, nil)
            return
        }
        let place = "\(path), table \(table.name)"
        guard let sign = text.utf8.lastIndex(of: UInt8(ascii: ":")), let column = table.column(String(text[..<sign])) else {
            throw LocalStoreError(
                .schemaMismatch, at: place, "it has no column \(text)",
                hint: "correct --timestamp: the columns are \(table.columns.map(\.name).joined(separator: ", "))")
        }
        let name = String(text[text.utf8.index(after: sign)...])
        guard let unit = TimestampUnit(rawValue: name) else {
            throw LocalStoreError(
                .schemaMismatch, at: place, "there is no unit \(name)",
                hint: "correct --timestamp: the units are \(TimestampUnit.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        (self.column, self.unit) = (column.name, unit)
    }
}
