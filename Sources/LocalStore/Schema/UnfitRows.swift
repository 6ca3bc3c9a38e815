import GRDB
import StrictText

/// Finds the rows of a table that no dataset can have. The census tells whether there may be any; only then does it read rows.
struct UnfitRows {
    let db: Database
    let table: TableColumns
    let census: ColumnCensus

    /// The most bytes of JSON that an entity may have: docs/format.md, "Limits".
    private static let largestEntity: Int64 = 1 << 26
    /// The longest key that can be carried, in bytes: docs/format.md, "Limits".
    private static let longestKey: Int64 = 1024

    /// The rows whose keys are too long, not UTF-8 or infinite, as reasons why the table cannot be a dataset.
    func byKey(_ columns: [TableColumns.Column]) throws -> [String] {
        var faults: [String] = []
        if columns.reduce(0, { $0 + mostBytes($1) }) > Self.longestKey {
            let length = columns.map { "ifnull(length(CAST(\($0.name.sqlIdentifier) AS BLOB)), 0)" }.joined(separator: " + ")
            let long = try count("\(length) > \(Self.longestKey)")
            if long > 0 { faults.append("\(Self.rows(long)) a key of more than \(Self.longestKey) bytes") }
        }
        for column in columns {
            guard let count = census.columns[column.name.exact]?.otherThanUTF8, count > 0 else { continue }
            faults.append("\(Self.rows(Int(count))) text that is not UTF-8 in the key column \(column.name)")
        }
        for column in columns where census.columns[column.name.exact]?.hasInfinite ?? false {
            let infinite = try count("\(column.name.sqlIdentifier) IN (9e999, -9e999)")
            faults.append("\(Self.rows(infinite)) an infinite number in the key column \(column.name)")
        }
        return faults
    }

    /// The rows that are larger than an entity may be, as a reason. Reads rows only if the longest values of all columns together would be too
    /// large.
    func bySize() throws -> [String] {
        let columns = table.columns.filter { !$0.isGenerated && mostBytes($0) > 0 }.sorted { mostBytes($0) > mostBytes($1) }
        // A control character has six bytes in JSON.
        guard columns.reduce(0, { $0 + mostBytes($1) }) > Self.largestEntity / 6 else { return [] }
        // SQLite adds up at most 1,000 terms; the shorter ones do not decide.
        let size = columns.prefix(200).map { column -> String in
            let name = column.name.sqlIdentifier
            return
                "CASE typeof(\(name)) WHEN 'text' THEN length(CAST(json_quote(\(name)) AS BLOB)) WHEN 'blob' THEN (length(\(name)) + 2) / 3 * 4 + 2 ELSE 0 END"
        }
        let large = try count("\(size.joined(separator: " + ")) > \(Self.largestEntity)")
        return large == 0 ? [] : ["\(Self.rows(large)) more than 64 MiB as JSON"]
    }

    private func mostBytes(_ column: TableColumns.Column) -> Int64 { census.columns[column.name.exact]?.mostBytes ?? 0 }

    private func count(_ condition: String) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table.name.sqlIdentifier) WHERE \(condition)") ?? 0
    }

    private static func rows(_ count: Int) -> String { Format.count(count, "row has", "rows have") }
}
