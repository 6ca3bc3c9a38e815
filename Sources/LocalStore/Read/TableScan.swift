import GRDB
import GRDBSQLite
import LocalTables
package import SnapshotModel
import StrictText

/// Passes the rows of a table to a sink in the order of their rowids, which is the order of the table's pages.
///
/// Call `init` on the thread that uses the reader; afterwards another thread may read.
package final class TableScan {
    private let statement: RowStatement
    private let connection: OpaquePointer?

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema, rowid: String) throws {
        statement = try RowStatement(transaction.db, schema, where: "WHERE \(rowid) BETWEEN ?1 AND ?2", orderedBy: rowid, path: transaction.path)
        connection = transaction.db.sqliteConnection
    }

    /// Passes every row whose rowid is in the range to `sink`.
    package func read(_ rowids: ClosedRange<Int64>, into sink: any EntitySink) throws {
        try statement.bind(from: .integer(rowids.lowerBound), upTo: .integer(rowids.upperBound))
        defer { statement.end() }
        while try statement.step() { try statement.send(to: sink) }
    }

    /// Frees the pages that SQLite keeps: after a scan, they are only those that came last.
    package func end() { sqlite3_db_release_memory(connection) }
}

extension DatasetReader {
    /// Prepares reading a table's rows in the order of their rowids.
    package func scan(of schema: DatasetSchema, rowid: String) throws -> TableScan { try TableScan(transaction, schema, rowid: rowid) }

    /// The size of the database according to its header, in bytes.
    package func databaseByteCount() throws -> Int {
        try (Int.fetchOne(transaction.db, sql: "PRAGMA main.page_count") ?? 0) * (Int.fetchOne(transaction.db, sql: "PRAGMA main.page_size") ?? 0)
    }

    /// The keys of rows that lie evenly between the first and the last rowid. Rows without a usable key are left out.
    package func sampleKeys(_ schema: DatasetSchema, rowid: String, count: Int) throws -> [EntityKey] {
        let table = schema.table.sqlIdentifier
        func end(_ function: String) throws -> Int64? { try KeyedStatement(transaction.db, "SELECT \(function)(\(rowid)) FROM \(table)").bind().integer() }
        guard let first = try end("min"), let last = try end("max") else { return [] }
        let rows = try KeyedStatement(
            transaction.db, "SELECT \(schema.keySQL.value()) FROM \(table) WHERE \(rowid) >= ? ORDER BY \(rowid) LIMIT 1")
        let parts = Int64(count + 1)
        // Parts of each, because the difference of two rowids may be no number of 64 bits.
        return try (1..<parts).flatMap { try rows.bind(.integer(first / parts * (parts - $0) + last / parts * $0)).keys() }
    }

    /// Whether rows that follow one another in key order mostly lie in pages far apart, by a look at the keys after some others.
    ///
    /// Only for tables whose ``TableShape/hasRangeableKey`` is true.
    package func areRowsScattered(_ schema: DatasetSchema, rowid: String, after keys: [EntityKey]) throws -> Bool {
        let key = schema.keySQL
        let condition = key.condition(KeyRange(number: 0, first: keys.first, next: nil))
        let statement = try KeyedStatement(
            transaction.db, "SELECT \(rowid) FROM \(schema.table.sqlIdentifier) \(condition) ORDER BY \(key.list()) LIMIT \(Self.lookedAt)")
        var looked = 0, far = 0
        for key in keys {
            try statement.bind(.key(key))
            var before: Int64?
            while try statement.step() {
                let rowid = statement.integer(0)
                if let before {
                    looked += 1
                    let (distance, isHuge) = rowid.subtractingReportingOverflow(before)
                    if isHuge || distance.magnitude > Self.nearRowids { far += 1 }
                }
                before = rowid
            }
        }
        return far * 2 > looked
    }

    /// How many keys after each other one are looked at.
    private static let lookedAt = 100
    /// Rows whose rowids differ by no more are taken to be near: some pages of rows.
    private static let nearRowids: UInt64 = 256
}
