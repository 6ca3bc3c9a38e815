import GRDB
package import SnapshotModel
import StrictText

/// What an import records about the tracked changes.
package struct MergeTable: TransactionPart {
    let transaction: LocalTransaction

    /// Records that the tables of datasets equal the version plus the tracked changes.
    ///
    /// Call it once, after the merge of the last dataset. Between two writes of one page, SQLite may have moved it to the write-ahead log; it then
    /// computes the checksums of everything after it again.
    package func setCompared(_ schemas: [DatasetSchema]) throws {
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
            try transaction.rowids.setCompared(schema)
        }
    }

    /// Deletes the entities of datasets that came from the zone. Entities that were changed here since the applied version stay, and their
    /// changes stay tracked.
    ///
    /// The log must have been consolidated. Foreign keys of tables that are not synced are enforced as in an import.
    ///
    /// - Parameter all: all datasets of the database.
    /// - Returns: how many entities were deleted.
    package func eraseApplied(of schemas: [DatasetSchema], among all: [DatasetSchema]) throws -> Int {
        let keeper = try ForeignKeyEnforcer(transaction, datasets: schemas)
        let count = try transaction.tracking.importing(all, then: keeper.enforce) {
            var count = 0
            for schema in schemas {
                guard let id = try trackingID(schema) else { continue }
                let table = schema.table.sqlIdentifier
                try db.execute(
                    sql: """
                        DELETE FROM main.\(table) AS t WHERE NOT EXISTS (SELECT 1 FROM main.snapsync_changes c
                            WHERE c.dataset = ? AND c.key = \(schema.keySQL.value(of: "t")) AND c.state < \(TrackedState.deleted))
                        """, arguments: [id])
                count += db.changesCount
                try transaction.tombstonesAndInstants.clear(of: schema)
                try db.execute(sql: "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
            }
            return count
        }
        // The tables are no longer the applied version plus the tracked changes. If the zone comes back, all rows are compared.
        for schema in schemas { try transaction.tracking.setIncomplete(of: schema) }
        return count
    }
}
