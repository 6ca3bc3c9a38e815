import GRDB
package import SnapshotModel

/// Looks rows up by key and passes them to a sink.
package final class RowLookup {
    private let statement: RowStatement

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        statement = try RowStatement(transaction.db, schema, where: "WHERE \(schema.keySQL.matches(nil, "?1"))", path: transaction.path)
    }

    /// Passes the row with that key to a sink. Returns whether it exists.
    package func give(_ key: EntityKey, to sink: any EntitySink) throws -> Bool {
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        guard try statement.step() else { return false }
        try statement.give(to: sink)
        return true
    }
}
