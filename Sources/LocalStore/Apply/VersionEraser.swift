import GRDB
package import SnapshotModel

extension LocalTransaction {
    /// Deletes the entities of datasets that came from the zone. Those that were touched here since the applied version stay, and stay tracked.
    ///
    /// The notes must have been folded. Foreign keys of tables that are not ours are kept as in an import.
    ///
    /// - Parameter all: all datasets of the database.
    /// - Returns: how many entities went.
    package func eraseApplied(of schemas: [DatasetSchema], among all: [DatasetSchema]) throws -> Int {
        let keeper = try ForeignKeyEnforcer(self, datasets: schemas)
        let count = try importing(all, then: keeper.settle) {
            var count = 0
            for schema in schemas {
                let whole = KeyRange(number: 0, first: nil, next: nil)
                for change in try trackedChanges(of: schema, in: whole) where !change.isDeletion { try keepChange(of: change.key, in: schema) }
                let before = try rows.rowCount(of: schema)
                try rows.deleteEntities(of: schema, in: whole, sparingKept: true)
                count += before - (try rows.rowCount(of: schema))
                try tombstonesAndInstants.clear(of: schema)
                try endMerge(of: schema)
            }
            return count
        }
        // The tables are no longer the applied version and what is tracked: should the zone come back, all rows are compared.
        for schema in schemas { try forgetCompleteness(of: schema) }
        return count
    }
}
