package import LocalStore
package import LocalTables
package import SnapshotModel
package import StrictText
import SyncRuns

/// Turns the rows that are held into those of another state, with edits that the next sync publishes or sends.
package struct HeldRowRestorer {
    package let transaction: LocalTransaction
    package let schema: DatasetSchema
    package let publishes: Bool
    package let now: Instant

    private var version: TableVersion { TableVersion(transaction, of: [schema], .json, own: nil, hasChanges: true) }

    /// The rows that are held.
    package func rows() throws -> [EntityKey: VersionRow] {
        Dictionary(try version.heldRows().map { ($0.place.key, $0.row) }, uniquingKeysWith: { first, _ in first })
    }

    /// The keys whose held rows are others than those of a state.
    package func differences(from wanted: [EntityKey: [OwnedValue]]) throws -> Set<EntityKey> {
        let rows = try rows()
        return Set(wanted.keys).union(rows.keys).filter { wanted[$0] != rows[$0]?.values }
    }

    /// Holds the rows of a state, and no others. Call it once the table has the state's rows.
    package func restore(_ wanted: [EntityKey: [OwnedValue]]) throws {
        let keys = try differences(from: wanted)
        guard !keys.isEmpty else { return }
        try transaction.changeLog.consolidate(of: [schema])
        let rows = try rows()
        for key in keys.sorted() {
            let there = try version.entry(RowPlace(0, key))
            if let values = wanted[key] {
                // A row that a version holds is edited, and one that was deleted is inserted again.
                let at = max(now, (there?.at ?? .earliest).advanced(byMicroseconds: 1))
                let row = VersionRow(values: values, instants: values.map { _ in at }, born: rows[key]?.born ?? at, isHeld: true)
                try version.hold(row, restoring: nil, at: RowPlace(0, key))
            } else if there?.shown != nil {
                // The state has the row in its table.
                _ = try transaction.restoreHeld(key, of: schema, publishes: publishes)
            } else if let row = rows[key] {
                try transaction.drop(row, of: key, in: schema, publishes: publishes, now: now)
            }
        }
    }
}

extension LocalTransaction {
    /// Removes a held row whose key has a change from here on. Returns whether a version has the row.
    ///
    /// - Parameter publishes: whether this device publishes. At others the version goes on holding the row.
    package func restoreHeld(_ key: EntityKey, of schema: DatasetSchema, publishes: Bool) throws -> Bool {
        // A row that this device holds alone is no edit of a version's row.
        let isVersions = try held.entity(key, of: schema) != nil
        try waiting.remove(key, of: schema)
        if publishes || !isVersions { try held.remove(key, of: schema) }
        return isVersions
    }

    /// Deletes a held row, here and, if others may have it, with the next version.
    package func drop(_ row: VersionRow, of key: EntityKey, in schema: DatasetSchema, publishes: Bool, now: Instant) throws {
        let isSent = try !sentEdits.edits(of: key, in: schema).isEmpty
        let isVersions = try restoreHeld(key, of: schema, publishes: publishes)
        guard isVersions || isSent else { return }
        let at = max(now, row.at.advanced(byMicroseconds: 1))
        let deletion = Edit(base: .row(row.instants), change: .deleted(at), born: row.born)
        try changeLog.store(deletion, of: key, in: schema, isInVersion: isVersions ? nil : false)
    }
}
