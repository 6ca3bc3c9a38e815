import CloudStore
package import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Merges this device's edits with the version that an import writes: takes them off the tables before, and puts them on the version's rows afterwards.
///
/// Source: docs/internals/merge.md.
final class ImportMerge {
    private let device: SyncContext
    private let transaction: LocalTransaction
    private let first: FirstImport
    private let ledger: ImportLedger
    private var own: OwnEdits?

    /// Consolidates the log and decides what happens to own rows. Nothing in the datasets' tables is changed.
    ///
    /// - Throws: ``SyncError`` with `.refused` if nobody has decided what happens to existing rows.
    init(device: SyncContext, transaction: LocalTransaction, schemas: [DatasetSchema], isView: Bool, ledger: ImportLedger) throws {
        self.device = device
        self.transaction = transaction
        self.ledger = ledger
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        first = try FirstImport(transaction, schemas, settings: device.settings, isView: isView, now: ledger.now, at: device.database.path)
    }

    /// Takes the edits off the tables. Call it before the first deletion.
    func begin(_ incoming: [IncomingDataset]) throws {
        for one in incoming where first.isSingle(one.schema) {
            try single(one.schema).keepCopy(besides: one.fields.recordCount)
        }
        let datasets = device.settings.datasets
        own = try OwnEdits(transaction, datasets, .json, first: Set(datasets.indices.filter { first.names.contains(datasets[$0].name) }))
        if let own { try ledger.recordOverwritten(own, of: device.settings.datasets, in: transaction) }
    }

    /// Records that the import has written a dataset's rows: those with some keys, or (nil) all.
    func wrote(_ keys: Set<EntityKey>?, of schema: DatasetSchema) { own?.touch(keys, of: schema) }

    /// Puts the edits on the version's rows. Call it after the last insertion.
    ///
    /// - Parameter changes: the zone's commits since the applied version; nil for a view.
    /// - Throws: ``SyncError`` with `.needsWholeVersion` if an edit must give way whose row the import has not read.
    func finish(_ incoming: [IncomingDataset], _ changes: ZoneChanges?, isFirst: Bool) throws {
        // A snapshot asset replaces the tombstones. Change assets do not drop any, so do that here.
        for one in incoming where one.snapshot == nil {
            for commit in changes?.commits ?? [] { try TombstoneHorizon.take(from: commit, of: one.schema, in: transaction) }
        }
        if let own { try put(own, on: incoming, changes, isFirst: isFirst) }
        for one in incoming where first.isSingle(one.schema) { try single(one.schema).keepOne() }
        for one in incoming { try transaction.detachedChanges.forget(of: one.schema) }
    }

    private func put(_ own: OwnEdits, on incoming: [IncomingDataset], _ changes: ZoneChanges?, isFirst: Bool) throws {
        guard try !own.hasOrphans() else {
            throw SyncError(
                .needsWholeVersion, step: .apply, at: device.database.path, "rows that were changed here refer to rows that the version has deleted")
        }
        let datasets = device.settings.datasets
        let horizons = datasets.map { schema in
            // Change assets contain every deletion, however old.
            guard let changes, incoming.contains(where: { $0.schema.name == schema.name && $0.snapshot != nil }) else { return Instant.distantPast }
            return TombstoneHorizon.latest(of: schema, in: changes.commits, wasPruned: !isFirst && !changes.base.isEmpty) ?? .distantPast
        }
        let outcome = try Rebase(
            transaction, datasets: datasets, state: TableVersion(transaction, datasets, .json, own: own), edits: own, horizons: horizons,
            marksOrphans: ledger.publishes
        ).run()
        try MergeLosses(datasets: datasets, ledger: ledger, transaction: transaction, first: first).record(outcome, of: own)
        try own.settle(outcome, publishes: device.settings.role.publishes)
        let released = Set(outcome.released)
        for place in outcome.held where !released.contains(place) { ledger.note(place.key, datasets[place.dataset], ImportLedger.isHeld) }
        for place in outcome.released { ledger.note(place.key, datasets[place.dataset], ImportLedger.isShown) }
        for one in outcome.restored { ledger.note(one.place.key, datasets[one.place.dataset], "restored, because rows that were changed here refer to them") }
        try own.end()
    }

    private func single(_ schema: DatasetSchema) -> SinglePolicy { SinglePolicy(schema: schema, transaction: transaction, ledger: ledger) }
}

extension EntityCodec {
    /// Entities as JSON that carries every value.
    package static let json = EntityCodec(
        text: { schema, values in
            guard let text = try EntityDocument.make(schema.withoutShapes, { sink in try values.lending { try sink.take($0) } }) else {
                throw SyncError(
                    .dataRefused, step: .encode, at: "dataset \(schema.name)", "a row cannot be written as JSON", hint: "run snapsync verify --local")
            }
            return text
        },
        values: { schema, text in
            let row = RowValues()
            try EntityDocument.give(text, of: schema.withoutShapes, to: row)
            return row.values
        })
}

/// Keeps the values of the last row that it is given.
final class RowValues: EntitySink {
    private(set) var values: [OwnedValue] = []

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws { self.values = values.map(OwnedValue.init) }
}

extension SyncError.Code {
    /// An import of change assets needs single entities of the version, which change assets do not have. The caller reads the whole version
    /// instead.
    static let needsWholeVersion = SyncError.Code(name: "needsWholeVersion")
}

/// Writes the values that lose in a merge to the conflict journal, or at a first import to a file.
struct MergeLosses {
    let datasets: [DatasetSchema]
    let ledger: ImportLedger
    let transaction: LocalTransaction
    let first: FirstImport

    /// Call it before the edits are settled.
    func record(_ outcome: Rebase.Outcome, of own: OwnEdits) throws {
        guard !outcome.merges.isEmpty else { return }
        try own.forEach { place, edit in
            guard let merge = outcome.merges[place] else { return }
            let schema = datasets[place.dataset]
            // Nobody has edited what is only this table's default.
            if try transaction.changeLog.change(of: place.key, in: schema)?.isDefaulted == true { return }
            if first.names.contains(schema.name) {
                if !merge.later.isEmpty, case .columns(_, let values) = edit.change { try ledger.copy(place.key, values, of: schema) }
                return
            }
            try record(merge, edit, place.key, schema)
        }
    }

    private func record(_ merge: RowMerge, _ edit: Edit, _ key: EntityKey, _ schema: DatasetSchema) throws {
        let quiet = schema.quietColumns
        func loud(_ lost: Set<LostValue>) -> [Int]? {
            if lost.contains(where: { $0.column == nil }) { return [] }
            let columns = lost.compactMap(\.column).filter { !quiet.contains($0) }.sorted()
            return columns.isEmpty ? nil : columns
        }
        var mine: [OwnedValue]?
        if case .columns(_, let values) = edit.change { mine = values }
        let there = merge.found
        func conflict(_ columns: [Int], _ reason: ConflictReason, loser: ([OwnedValue]?, Instant, String?), winner: ([OwnedValue]?, Instant, String?)) throws {
            func side(_ side: ([OwnedValue]?, Instant, String?)) throws -> ConflictSide {
                ConflictSide(entity: try side.0.map { try EntityCodec.json.text(schema, $0) }, instant: side.1, device: side.2)
            }
            let isWhole = columns.isEmpty || reason == .sameKey
            try ledger.recordConflict(
                Conflict(
                    dataset: schema.name, key: key, reason: reason, loser: side(loser), winner: side(winner),
                    columns: isWhole ? nil : columns.map { schema.columns[$0].name }), in: transaction)
        }
        let own = (mine, edit.at, ledger.device as String?), other = (there?.row?.values, there?.at ?? .distantPast, ledger.author)
        if let columns = loud(merge.later) {
            let reason: ConflictReason = there?.row == nil ? .laterDeletion : edit.inserts || edit.born != there?.row?.born ? .sameKey : .laterEdit
            try conflict(columns, reason, loser: own, winner: other)
        }
        // An edit that a reader has sent is decided by the publisher, who records what loses to it and what does not fit.
        if try !ledger.publishes && transaction.mailbox.exist() && transaction.outbox.sentChanges(of: key, in: schema).contains(where: { $0.state != .local }) {
            return
        }
        if let columns = loud(merge.misfits) {
            try conflict(columns, edit.isDeletion ? .parentNeeded : .valueTaken, loser: own, winner: other)
        }
        if let columns = loud(merge.replaced) {
            try conflict(columns, edit.isDeletion ? .laterDeletion : edit.inserts ? .sameKey : .laterEdit, loser: other, winner: own)
        }
    }
}
