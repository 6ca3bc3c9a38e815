import LocalStore
import SnapshotModel
import StrictText

extension SyncContext {
    /// Shows held rows that fit by now, at a publisher that does not import, and lets the next version hold the others. Returns sentences for the
    /// run's report.
    func showHeldRows() throws -> [String] {
        let datasets = settings.datasets
        guard try database.read({ transaction in try transaction.waiting.hasAny() || datasets.contains { try transaction.held.count(of: $0) > 0 } }) else {
            return []
        }
        return try database.withoutRollbacks {
            let ledger = ImportLedger(database: database.path, settings: settings, now: now())
            let notices = try database.write { transaction in
                try transaction.changeLog.consolidate(of: datasets)
                guard let own = try OwnEdits(transaction, datasets, .json) else { return [String]() }
                try ledger.recordOverwritten(own.overwritten, of: datasets, in: transaction)
                let keeper = try ForeignKeyEnforcer(transaction, datasets: datasets, takesVersion: true)
                try transaction.tracking.importing(datasets, then: keeper.enforce) {
                    let outcome = try Rebase(
                        transaction, datasets: datasets, state: TableVersion(transaction, datasets, .json, own: nil), edits: own,
                        horizons: datasets.map { _ in .distantPast }
                    ).run()
                    try own.settle(outcome, publishes: true)
                    for place in outcome.released { ledger.note(place.key, datasets[place.dataset], ImportLedger.isShown) }
                    try own.end()
                }
                for schema in datasets {
                    for row in try transaction.held.overwritten(of: schema) {
                        let instants = try transaction.tombstonesAndInstants.instants(of: row.key, in: schema)
                        try ledger.recordOverwritten(row.key, row.entity, at: instants.latest(own: nil), of: schema, by: nil, in: transaction)
                        try transaction.held.remove(row.key, of: schema)
                    }
                    try transaction.waiting.stage(schema)
                }
                return transaction.triggerNotices
            }
            return ledger.sentences + notices
        }
    }
}
