import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// The transaction of an import: replaces the rows of every dataset that differs, and stores the change token.
///
/// It starts from the state in ``ImportBase``. All rows are compared before the first one changes, so that other connections are not kept
/// waiting, and one commit shows the new version.
struct VersionReplacement {
    let context: SyncContext
    let progress: ProgressHandler?
    let discardsChanges: Bool
    let willReplace: @Sendable (LocalTransaction) throws -> Void
    /// The datasets that differ.
    let incoming: [IncomingDataset]
    let local: ImportBase
    /// The version to store as the applied one.
    let token: ChangeToken

    /// The datasets that were replaced, and the sentences for the report.
    struct Replaced: Sendable {
        let datasets: [IncomingDataset.Outcome]
        var notices: [String]
        var conflicts = LostEdits()
    }

    /// Returns nil if other rows must be compared first: another program deleted rows meanwhile that the version may need, or changes are untracked.
    /// Then nothing was replaced.
    func run() throws -> Replaced? {
        do {
            return try attempt(ignoringChecks: false)
        } catch  where SyncError.isBrokenCheck(error) {
            // The version's rows are what other devices hold, and only a device that has the row can correct it.
            return try attempt(ignoringChecks: true)
        }
    }

    private func attempt(ignoringChecks: Bool) throws -> Replaced? {
        try context.database.withoutRollbacks {
            let ledger = ImportLedger(database: context.database.path, settings: context.settings, now: context.now())
            do {
                guard var replaced = try replace(ledger, ignoringChecks: ignoringChecks) else { return nil }
                replaced.notices = ledger.sentences + replaced.notices
                replaced.conflicts = ledger.conflicts
                return replaced
            } catch {
                ledger.discard()
                throw error
            }
        }
    }

    private func replace(_ ledger: ImportLedger, ignoringChecks: Bool) throws -> Replaced? {
        let changes = local.upstream?.changes
        for commit in changes?.commits ?? [] { ledger.authors[commit.token.number] = commit.device }
        let schemas = incoming.map(\.schema)
        return try context.database.write { transaction in
            // The transaction must start from the state that was read before it.
            guard try transaction.state.applied() == local.applied else { throw context.anotherRun(.apply) }
            for schema in schemas {
                try SyncGuards.refuseUnfillableColumns(transaction.tables.check(of: schema), schema, at: context.database.path)
            }
            // Consolidating the log may write many pages. The rows are read on other connections meanwhile.
            let prepared = try transaction.lettingOthersRead { try prepare(changes, ledger, in: transaction) }
            guard let prepared else { return nil }
            transaction.ignoresChecks = ignoringChecks
            transaction.takesNewest = true
            let keeper = try ForeignKeyEnforcer(transaction, datasets: context.settings.datasets, takesVersion: true)
            let replaced = try transaction.tracking.importing(context.settings.datasets, then: keeper.enforce) {
                try prepared.merging.begin(incoming)
                let replaced = try incoming.indices.map {
                    try incoming[$0].apply(prepared.plans[$0], with: prepared.importers[$0], merge: prepared.merging, ledger: ledger, in: transaction, progress)
                }
                for one in incoming where one.snapshot != nil { try transaction.tracking.setComplete(one.schema) }
                try prepared.merging.finish(incoming, changes, isFirst: local.applied == nil)
                return replaced
            }
            try recordApplied(AppliedVersion(token), in: transaction)
            for (one, done) in zip(incoming, replaced) {
                try transaction.datasetStates.set(
                    DatasetState(
                        name: one.schema.name, syncTimestamp: one.fields.syncTimestamp, recordCount: one.fields.recordCount, unknownFields: done.unknownFields))
            }
            try context.recordSuccess(.import, in: transaction)
            try context.nextNonce(in: transaction)
            try ledger.finish()
            return Replaced(
                datasets: replaced, notices: try transaction.triggerNotices + (ignoringChecks ? brokenChecks(schemas, in: transaction) : []))
        }
    }

    /// What there is to say of rows that break CHECK constraints of this device's tables.
    private func brokenChecks(_ schemas: [DatasetSchema], in transaction: LocalTransaction) throws -> [String] {
        try schemas.flatMap { schema in
            try transaction.tables.rowsBreakingChecks(of: schema, keys: 3).map { CheckReport(schema, $0.check, count: $0.count, keys: $0.keys).sentence }
        }
    }

    /// How each dataset is merged and applied. Nothing in the datasets' tables is changed yet.
    private struct Prepared {
        let merging: ImportMerge
        let importers: [DatasetImporter?]
        let plans: [DatasetImporter.Plan?]
    }

    /// Consolidates the log and compares the rows; nil if other rows must be compared first.
    private func prepare(_ changes: ZoneChanges?, _ ledger: ImportLedger, in transaction: LocalTransaction) throws -> Prepared? {
        let schemas = incoming.map(\.schema)
        // The version's children may need rows that were deleted meanwhile; then their tables must be read, too.
        let deleted = try transaction.references.deletedParents(among: context.settings.datasets)
        guard deleted.isSubset(of: local.deletedParents.union(local.untracked)) else { return nil }
        try willReplace(transaction)
        var acting = context
        if discardsChanges {
            try transaction.changeLog.consolidate(of: context.settings.datasets)
            try ledger.recordOverwritten(transaction.waiting.takeOverwritten(of: context.settings.datasets), of: context.settings.datasets, in: transaction)
            for schema in context.settings.datasets {
                try transaction.changeLog.discard(of: schema)
                try transaction.waiting.remove(of: schema)
            }
            try transaction.sentEdits.withdraw()
            try transaction.decidedEdits.forgetUnpublished()
            acting.settings.replacesOwnRows = true
        }
        let merging = try ImportMerge(
            context: acting, transaction: transaction, schemas: schemas, absent: local.absent, changes: changes, ledger: ledger)
        // An import that reads all rows of a version would replace what was written while the triggers were off. Where readers may not edit, it does.
        let publishes = context.settings.role.publishes
        let untracked = try incoming.filter { one in
            try local.countsRows && one.snapshot != nil && !local.untracked.contains(one.schema.name) && (publishes || !one.schema.messages.isEmpty)
                && transaction.changeLog.hasUnexplainedRows(of: one.schema)
        }
        guard untracked.isEmpty else {
            for one in untracked { try transaction.tracking.setUntracked(one.schema) }
            return nil
        }
        if let answered = local.answered { try transaction.decidedEdits.setOfVersion(answered) }
        let importers = incoming.indices.map { index in
            incoming[index].snapshot.map {
                DatasetImporter(schema: incoming[index].schema, asset: $0, database: context.database, progress: progress)
            }
        }
        // Compare all rows before the first one changes: other connections see only committed data.
        return Prepared(merging: merging, importers: importers, plans: try importers.map { try $0?.plan(transaction) })
    }

    private func recordApplied(_ version: AppliedVersion, in transaction: LocalTransaction) throws {
        let fields = Dictionary(uniqueKeysWithValues: incoming.map { ($0.schema.name, $0.fields) })
        try transaction.keepFields(fields, of: context.settings.datasets, before: local.applied, now: version)
        try transaction.state.setApplied(version)
        let names = incoming.map(\.schema.name.exact)
        try transaction.state.leftDatasets.set(transaction.state.leftDatasets().subtracting(names))
        var takenOut = try transaction.state.takenOut().subtracting(names)
        let seen = Set(try transaction.datasetStates.all().map(\.name.exact))
        for schema in local.absent {
            try transaction.state.knownRecord.set(nil, of: schema)
            // What no version has had yet is still to be published.
            let wasThere = try seen.contains(schema.name.exact) || !transaction.state.unseenColumns(of: schema).isEmpty
            guard wasThere else { continue }
            takenOut.insert(schema.name.exact)
            if context.settings.role.publishes { try transaction.waiting.adopt(heldOf: schema, .json) }
            try transaction.state.unseenColumns.set([], of: schema)
        }
        try transaction.state.takenOut.set(takenOut)
    }
}
