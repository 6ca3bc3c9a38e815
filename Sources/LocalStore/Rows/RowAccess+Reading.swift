import GRDB
package import SnapshotModel
package import StrictText

// Queries of the datasets' rows.
extension RowAccess {
    /// Whether there is a row with that key.
    package func hasRow(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try KeyedStatement(db, "SELECT 1 FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.matches(nil, "?1"))").bind(.key(key)).integer() != nil
    }

    /// Whether the dataset's table has a row in a range of keys.
    package func hasRows(_ schema: DatasetSchema, in range: KeyRange) throws -> Bool {
        let statement = try RowStatement(db, schema, where: schema.keySQL.condition(range), path: path)
        try statement.bind(from: range.first, upTo: range.next)
        defer { statement.end() }
        return try statement.step()
    }

    /// Whether the dataset's table holds more than `count` rows.
    package func hasRows(_ schema: DatasetSchema, moreThan count: Int = 0) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) LIMIT 1 OFFSET ?)", arguments: [count]) ?? false
    }

    /// Whether a row of the dataset's table has NULL in a key column.
    package func hasNullKeys(_ schema: DatasetSchema) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) WHERE \(schema.keySQL.isNull()))") ?? false
    }

    /// How many rows a dataset's table has.
    package func rowCount(of schema: DatasetSchema) throws -> Int {
        try LocalStoreError.translating(at: "\(path), table \(schema.table)") {
            try Int.fetchOne(db, sql: "SELECT count(*) FROM \(schema.table.sqlIdentifier)") ?? 0
        }
    }

    /// The instant of the row's own timestamp, or `distantPast` if it has none; nil if there is no row.
    package func ownInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        let statement = try KeyedStatement(
            db, "SELECT coalesce(\(schema.ownInstantSQL), \(Int64.min)) FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "?1"))")
        return try statement.bind(.key(key)).integer().map(Instant.init(microseconds:))
    }

    /// Passes the row with that key to a sink, if it exists.
    package func giveRow(_ key: EntityKey, of schema: DatasetSchema, to sink: any EntitySink) throws {
        let statement = try RowStatement(db, schema, where: "WHERE \(schema.keySQL.matches(nil, "?1"))", path: path)
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        if try statement.step() { try statement.give(to: sink) }
    }

    /// Passes every row of a dataset to a sink, in key order.
    package func giveRows(of schema: DatasetSchema, to sink: any EntitySink) throws {
        let statement = try RowStatement(db, schema, where: "", path: path)
        defer { statement.end() }
        while try statement.step() { try statement.give(to: sink) }
    }

    /// Prepares lookups of rows by key.
    package func lookup(of schema: DatasetSchema) throws -> RowLookup { try RowLookup(transaction, schema) }

    /// Prepares reading rows by ranges of keys, including the changes of this transaction.
    package func ranges(of schema: DatasetSchema) -> RangeReader { RangeReader(transaction, schema) }
}
