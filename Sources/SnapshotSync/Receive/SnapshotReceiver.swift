import CloudStore
import LocalStore
import Logging
import SnapshotFormat
import SnapshotModel
import StrictText

/// Brings a version of the zone into the database: fetch, verify, decompress, decode, apply.
///
/// Delete-then-insert for every dataset that differs, with the change token, in one transaction: readers of the database
/// see the old data until the commit and never a mixture.
struct SnapshotReceiver: Sendable {
    let device: Device
    let progress: ProgressHandler?
    /// Which datasets may have become much smaller.
    var allowed = ShrinkApproval.none

    /// Imports the newest version if it is newer than what is here; ends a view.
    func importNewest() async throws -> ImportReport {
        let mended = try SyncError.at(.read) { try device.keepTracking() }
        let local = try localState()
        let changes = try await SyncError.at(.fetch) { try await device.cloud.changes(since: local.applied?.token, in: device.zone) }
        guard let newest = changes.token else {
            throw SyncError(.nothingThere, step: .fetch, at: "zone \(device.zone)", "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        if newest == local.applied?.token, local.view == nil, local.untracked.isEmpty {
            try SyncError.at(.apply) { try device.database.write { try $0.setLastSuccess(device.now()) } }
            return ImportReport(applied: false, version: newest.number, datasets: [], view: nil, warnings: mended)
        }
        let identity = try await DeviceIdentity.check(device, applied: local.applied, commits: changes.commits)
        try await ShrinkCheck(device: device, allowed: allowed).verify(changes, after: local.applied?.token)
        let state = try await SyncError.at(.fetch) { try await device.cloud.records(in: device.zone, at: newest.number, notBefore: local.applied?.token) }
        let horizon = TombstoneHorizon.latest(in: changes, wasPruned: local.applied != nil && !changes.base.isEmpty)
        let report = try await apply(state, local, token: newest, view: nil, horizon: horizon, warnings: mended + identity.warnings)
        await identity.device.report(newest)
        return report
    }

    /// Shows version `number` instead of the newest: a view, which ``importNewest()`` ends.
    func importVersion(_ number: Int) async throws -> ImportReport {
        guard device.settings.role == .reader else {
            throw SyncError(.refused, step: .apply, at: device.database.path, "this device is a writer; an old version would be published as its next one", hint: "look at it with snapsync cat, or import it at a reader")
        }
        let mended = try SyncError.at(.read) { try device.keepTracking() }
        let local = try localState()
        let state = try await SyncError.at(.fetch) { try await device.cloud.records(in: device.zone, at: number, notBefore: local.applied?.token) }
        return try await apply(state, local, token: nil, view: "version \(number)", horizon: nil, warnings: mended)
    }

    private struct Local: Sendable {
        let applied: AppliedVersion?
        let view: String?
        /// The datasets whose rows may differ from the applied version without a note of it.
        let untracked: Set<String>
        /// The datasets with changes of their own that others refer to: a parent that was deleted here may be needed.
        let changedParents: Set<String>
    }

    private func localState() throws -> Local {
        try SyncError.at(.read) {
            try device.database.read { transaction in
                let untracked = try device.settings.datasets.filter { try !transaction.trackedChanges(of: $0).isComplete }
                return Local(
                    applied: try transaction.applied(), view: try transaction.view(), untracked: Set(untracked.map(\.name)),
                    changedParents: try transaction.changedParents(among: device.settings.datasets))
            }
        }
    }

    private struct Incoming: Sendable {
        let schema: DatasetSchema
        let asset: SnapshotAsset
    }

    private func apply(_ state: ZoneState, _ local: Local, token: ChangeToken?, view: String?, horizon: Instant?, warnings mended: [String]) async throws -> ImportReport {
        var incoming: [Incoming] = []
        var warnings = mended
        for schema in device.settings.datasets {
            guard let record = state.record(schema.recordName) else {
                warnings.append("the zone has no dataset \(schema.name); its table stays as it is")
                continue
            }
            guard record.type == schema.recordType else {
                throw SyncError(.refused, step: .fetch, at: "record \(record.name)", "its type is \(record.type), the dataset file says \(schema.recordType)", hint: "correct the dataset file")
            }
            // What the token's version had is here already, unless the database shows something else.
            let isHere = view == nil && local.view == nil && !local.untracked.union(local.changedParents).contains(schema.name) && local.applied.map { (Int(record.changeTag ?? "") ?? .max) <= $0.number } == true
            if isHere { continue }
            incoming.append(Incoming(schema: schema, asset: try await SnapshotAsset(of: record, dataset: schema.name, in: device.cloud, zone: device.zone)))
        }
        warnings += state.records.map(\.name).filter { name in !device.settings.datasets.contains { $0.recordName == name } }
            .map { "the record \($0) is of no dataset that this device knows" }

        let found = incoming
        let (datasets, notices) = try await WorkerThreads.run { try SyncError.at(.apply) { try replace(found, local, token: token, view: view, horizon: horizon) } }
        warnings += notices
        for dataset in datasets where !dataset.unknownFields.isEmpty {
            warnings.append("\(dataset.report.name): this device does not know the fields \(dataset.unknownFields.sorted().joined(separator: ", ")); they were left out")
        }
        return ImportReport(applied: true, version: state.token?.number, datasets: datasets.map(\.report), view: view, warnings: warnings)
    }

    private func replace(_ incoming: [Incoming], _ local: Local, token: ChangeToken?, view: String?, horizon: Instant?) throws -> ([DatasetImporter.Outcome], notices: [String]) {
        let ledger = ImportLedger(database: device.database.path, datasets: device.settings.datasets, now: device.now())
        do {
            return (try replace(incoming, local, token: token, view: view, horizon: horizon, ledger), ledger.sentences)
        } catch {
            ledger.discard()
            throw error
        }
    }

    private func replace(
        _ incoming: [Incoming], _ local: Local, token: ChangeToken?, view: String?, horizon: Instant?, _ ledger: ImportLedger
    ) throws -> [DatasetImporter.Outcome] {
        let schemas = incoming.map(\.schema)
        return try device.database.write { transaction in
            // The state that was read before the transaction must be the one that it changes.
            guard try transaction.applied() == local.applied, try transaction.view() == local.view else {
                throw SyncError(.tryAgainLater, step: .apply, at: device.database.path, "another run changed the database meanwhile", hint: "run the same command again")
            }
            for schema in schemas {
                try SyncGuards.refuseUndescribedColumns(transaction.checkTable(of: schema), schema, at: device.database.path)
            }
            if view != nil { try SyncGuards.refuseViewOverChanges(transaction, schemas, at: device.database.path) }
            // All rows are looked at before the first one changes, for other connections see only what is committed.
            let merging = try MergingImport(device: device, transaction: transaction, schemas: schemas, isView: view != nil, ledger: ledger)
            let importers = incoming.map {
                DatasetImporter(schema: $0.schema, asset: $0.asset, database: device.database, progress: progress, rule: merging.rule(of: $0.schema, horizon: horizon))
            }
            let plans = try importers.map { try $0.plan(transaction) }
            let keeper = try ForeignKeyKeeper(transaction, datasets: device.settings.datasets)
            let replaced = try transaction.importing {
                try merging.begin(importers)
                let replaced = try zip(importers, plans).map { try $0.apply($1, ledger: ledger, in: transaction) }
                try merging.settle(importers)
                try keeper.settle()
                return replaced
            }
            if view != nil { for schema in schemas { try transaction.forgetCompleteness(of: schema) } }
            if let token { try transaction.setApplied(AppliedVersion(token)) }
            try transaction.setView(view)
            for (one, done) in zip(incoming, replaced) {
                try transaction.setDatasetState(
                    DatasetState(name: one.schema.name, syncTimestamp: one.asset.fields.syncTimestamp, recordCount: done.report.recordCount, unknownFields: done.unknownFields))
            }
            try transaction.setLastSuccess(device.now())
            try ledger.finish()
            return replaced
        }
    }
}
