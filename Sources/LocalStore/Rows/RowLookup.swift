import GRDB
package import SnapshotModel

/// Gives single rows by their keys to a sink.
package final class RowLookup {
    private let statement: RowStatement

    init(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        statement = try RowStatement(transaction.db, schema, where: "WHERE \(schema.keySQL.matches(nil, "?1"))", path: transaction.path)
    }

    /// Gives the row with that key. Returns whether there is one.
    package func give(_ key: EntityKey, to sink: any EntitySink) throws -> Bool {
        try statement.bind(from: key, upTo: nil)
        defer { statement.end() }
        guard try statement.step() else { return false }
        try statement.give(to: sink)
        return true
    }
}
