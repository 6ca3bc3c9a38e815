import CloudStore
package import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Merges this device's edits with the version that an import writes: takes them off the tables before, and puts them on the version's rows afterwards.
///
/// Source: docs/internals/merge.md.
final class ImportMerge {
    private let context: SyncContext
    private let transaction: LocalTransaction
    private let first: FirstImport
    private let ledger: ImportLedger
    /// The names of the datasets that the version does not have.
    private let absent: Set<ExactText>
    /// The names of the datasets that had left the zone and are in it again.
    private let returned: Set<ExactText>
    /// The rows of these datasets that are no edits of this device.
    private var replaced: [StashedRows] = []
    private var own: OwnEdits?
    /// For each dataset of which one row may stay, the own rows to which rows refer.
    private var needed: [Int: Set<EntityKey>] = [:]
    /// Restored values of columns that the version does not have.
    var carried: [CarriedColumns] = []

    /// Consolidates the log and decides what happens to own rows. Nothing in the datasets' tables is changed.
    ///
    /// - Parameters:
    ///   - absent: the datasets that the version has no more.
    ///   - changes: the zone's commits since the applied version; nil before the first.
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    init(
        context: SyncContext, transaction: LocalTransaction, schemas: [DatasetSchema], absent: [DatasetSchema], changes: ZoneChanges?, ledger: ImportLedger
    ) throws {
        self.context = context
        self.transaction = transaction
        self.ledger = ledger
        let out = try transaction.state.takenOut(), deleted = Set((changes?.commits ?? []).flatMap(\.deleted).map(\.exact))
        self.absent = out.union(absent.map(\.name.exact)).subtracting(schemas.map(\.name.exact))
        returned = Set(schemas.filter { out.contains($0.name.exact) || deleted.contains($0.recordName.exact) }.map(\.name.exact))
        try transaction.changeLog.consolidate(of: context.settings.datasets)
        first = try FirstImport(transaction, schemas, settings: context.settings, now: ledger.now, at: context.database.path)
    }

    /// Takes the edits off the tables. Call it before the first deletion.
    func begin(_ incoming: [IncomingDataset]) throws {
        let datasets = context.settings.datasets
        for one in incoming {
            guard let policy = single(one.schema) else { continue }
            needed[policy.index] = try policy.keepCopy(besides: one.fields.recordCount, among: datasets)
        }
        let answered = try transaction.decidedEdits.ofVersion()[context.settings.device.exact] ?? 0
        own = try OwnEdits(
            transaction, of: datasets, .json, first: Set(datasets.indices.filter { first.names.contains(datasets[$0].name) }), isNeeded: !needed.isEmpty,
            // An edit of a dataset that is gone stays an edit of this device's table.
            decided: transaction.sentEdits.all(upTo: answered).filter { $0.dataset.map { !absent.contains($0.exact) } ?? true })
        own?.unseen = try datasets.map { schema in
            let names = try transaction.state.unseenColumns(of: schema), isBack = returned.contains(schema.name.exact)
            return Set(schema.columns.indices.filter { isBack || names.contains(schema.columns[$0].name.exact) })
        }
        // What others wrote before the dataset left, its publisher need not have seen.
        for one in incoming where ledger.publishes && returned.contains(one.schema.name.exact) {
            replaced.append(try StashedRows(transaction, one.schema, table: "snapsync_returning_\(replaced.count)"))
            try replaced.last?.createUntracked()
        }
        try transaction.sentEdits.forget(upTo: answered)
        if let own { try ledger.recordOverwritten(own.overwritten, of: context.settings.datasets, in: transaction) }
    }

    /// Records that the import has written a dataset's rows: those of a change asset, or (nil) all.
    func wrote(_ changes: ChangeSet? = nil, of schema: DatasetSchema) { own?.touch(changes?.keys, partial: changes?.partial ?? [:], of: schema) }

    /// Takes the edits that the version has decided off. Call it when the dataset's rows are the version's.
    func settleDecided(of schema: DatasetSchema) throws { try own?.settleDecided(of: schema) }

    /// Puts the edits on the version's rows. Call it after the last insertion.
    ///
    /// - Parameter changes: the zone's commits since the applied version; nil if the import does not follow them.
    /// - Throws: ``SyncError`` with `.needsWholeVersion` if an edit must give way whose row the import has not read.
    func finish(_ incoming: [IncomingDataset], _ changes: ZoneChanges?, isFirst: Bool) throws {
        // A snapshot asset replaces the tombstones. Change assets do not drop any, so do that here.
        for one in incoming where one.snapshot == nil {
            for commit in changes?.commits ?? [] { try TombstoneHorizon.adopt(from: commit, of: one.schema, in: transaction) }
        }
        if let own { try put(own, on: incoming, changes, isFirst: isFirst) }
        for rows in replaced {
            let lookup = try rows.lookup(), row = RowValues()
            for key in try rows.replaced() where try lookup.send(key, to: row) { try ledger.copy(key, row.values, of: rows.schema) }
            try rows.drop()
        }
        for columns in carried {
            try columns.track(publishes: context.settings.role.publishes)
            try columns.end()
        }
        for one in incoming { try transaction.detachedChanges.forget(of: one.schema) }
    }

    private func put(_ own: OwnEdits, on incoming: [IncomingDataset], _ changes: ZoneChanges?, isFirst: Bool) throws {
        guard try own.writesDecided && own.knowsVersion() && !own.hasOrphans() else {
            throw SyncError(
                .needsWholeVersion, step: .apply, at: context.database.path,
                "rows that were changed here refer to rows that the version has deleted, or the change assets do not have all that was changed here")
        }
        let datasets = context.settings.datasets
        let horizons = datasets.map { schema in
            // Change assets contain every deletion, however old.
            guard let changes, incoming.contains(where: { $0.schema.name == schema.name && $0.snapshot != nil }) else { return Instant.distantPast }
            return TombstoneHorizon.latest(of: schema, in: changes.commits, wasPruned: !isFirst && !changes.base.isEmpty) ?? .distantPast
        }
        let state = TableVersion(transaction, of: datasets, .json, own: own)
        let losers = try incoming.compactMap { single($0.schema) }.flatMap { try $0.choose(from: own, over: state, keeping: needed[$0.index] ?? []) }
        try own.restoreParents(over: state, horizons: horizons)
        try recordRefused(own, in: state, horizons: horizons)
        let outcome = try Rebase(
            transaction, datasets: datasets, state: state, edits: own, horizons: horizons,
            // What a reader hands over restores no row unless it may insert rows.
            restores: { index, edit in
                self.ledger.publishes || datasets[index].permissions.inserts || edit.permitted(in: datasets[index]) != edit
            }, marksOrphans: ledger.publishes, showsHeld: own.hasEdits()
        ).run()
        try record(outcome, of: own)
        try own.settle(outcome, publishes: context.settings.role.publishes)
        let released = Set(outcome.released)
        for place in outcome.held where !released.contains(place) { ledger.record(place, of: datasets, ImportLedger.isHeld) }
        for place in outcome.released { ledger.record(place, of: datasets, ImportLedger.isShown) }
        for one in outcome.restored { ledger.record(one.place, of: datasets, "restored, because rows that were changed here refer to them") }
        let held = Set(outcome.held)
        for place in losers where !held.contains(place) {
            let stays = try transaction.rows.hasRow(place.key, of: datasets[place.dataset])
            ledger.record(place, of: datasets, stays ? "kept beside the one that may be left: rows refer to it" : "deleted: only one may be left")
        }
        try own.end()
    }

    private var losses: MergeLosses {
        MergeLosses(datasets: context.settings.datasets, transaction: transaction, author: ledger.device, other: ledger.author) { conflict in
            try self.ledger.recordConflict(conflict, in: self.transaction)
        }
    }

    /// Writes what loses to the journal, or at a first import to a file.
    private func record(_ outcome: Rebase.Outcome, of own: OwnEdits) throws {
        guard !outcome.merges.isEmpty else { return }
        let losses = losses, datasets = context.settings.datasets
        func record(_ place: RowPlace, _ edit: Edit) throws {
            guard let merge = outcome.merges[place] else { return }
            let schema = datasets[place.dataset]
            let isOwn = try first.isOwn(place.key, of: schema, in: transaction)
            if case .columns(let changed, let values) = edit.change, isOwn ? !merge.later.isEmpty : first.isFirst(schema) && merge.drops(values, but: changed) {
                try ledger.copy(place.key, values, of: schema)
            }
            // A first import has rules of its own for the rows that were there before.
            if !isOwn, !own.defaulted.contains(place), !(first.isFirst(schema) && own.older.contains(place)) {
                // An edit that was handed over is decided by the publisher, who records what loses to it and what does not fit.
                let isUndecided = try !ledger.publishes && !transaction.sentEdits.edits(of: place.key, in: schema).isEmpty
                let stays = isUndecided || schema.messages.isEmpty || edit.restoresParent && !schema.permissions.inserts
                let part = ledger.publishes ? edit : stays ? nil : edit.permitted(in: schema)
                try losses.record(merge, of: edit, at: place.key, schema: schema, handedOver: part, misfits: !isUndecided)
            }
        }
        try own.forEach(record)
        for one in outcome.restored { try record(one.place, one.edit) }
    }

    /// Writes the edits that the version has neither taken nor replaced by later ones to the journal.
    private func recordRefused(_ own: OwnEdits, in state: TableVersion, horizons: [Instant]) throws {
        for (place, edit) in own.decided {
            let there = try state.entry(place), schema = context.settings.datasets[place.dataset]
            guard let columns = edit.refused(by: there, horizon: horizons[place.dataset]) else { continue }
            try losses.recordRefusal(of: edit, at: place.key, schema: schema, beside: there, columns: columns, detail: nil)
        }
    }

    /// The policy of a dataset of which only one row may stay; nil for another one.
    private func single(_ schema: DatasetSchema) -> SinglePolicy? {
        guard first.isSingle(schema), let index = context.settings.datasets.firstIndex(where: { $0.name == schema.name }) else { return nil }
        return SinglePolicy(schema: schema, index: index, transaction: transaction, ledger: ledger)
    }
}

extension EntityCodec {
    /// Entities as JSON that carries every value.
    package static let json = EntityCodec(
        text: { schema, values in
            guard let text = try EntityDocument.make(schema.withoutShapes, { sink in try values.lending { try sink.receive($0) } }) else {
                throw SyncError(
                    .dataRefused, step: .encode, at: "dataset \(schema.name)", "a row cannot be written as JSON", hint: "run snapsync check --local")
            }
            return text
        },
        values: { schema, text in
            let row = RowValues()
            try EntityDocument.send(text, of: schema.withoutShapes, to: row)
            return row.values
        })
}

extension SyncError.Code {
    /// An import of change assets needs single entities of the version, which change assets do not have. The caller reads the whole version
    /// instead.
    static let needsWholeVersion = SyncError.Code(name: "needsWholeVersion")
}
