import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// Makes this device's data win over the zone's newest version: every difference is tracked as a change made now.
///
/// No row is changed. The newest version becomes the applied one, and the commit that follows pins it, so that it can be restored.
struct CloudReplacer: Sendable {
    let device: SyncContext

    /// Returns the differences from the newest version, which is the applied version from now on.
    func run() async throws -> RestoreReport {
        var warnings = try device.keepTracking()
        let applied = try device.database.read(at: .read) { try $0.state.applied() }
        let head = try await device.cloud.at(.fetch).records(in: device.zone, at: nil, notBefore: applied?.token)
        guard let token = head.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: "zone \(device.zone)", "nothing has been published yet, so there is nothing to replace",
                hint: "run snapsync export")
        }
        var restorers: [DatasetRestorer] = []
        for schema in device.settings.datasets {
            guard let record = head.record(schema.recordName) else {
                warnings.append("the zone has no dataset \(schema.name) yet")
                continue
            }
            let version = try await DatasetVersion(record, as: schema, in: device.cloud, zone: device.zone).loaded()
            restorers.append(DatasetRestorer(schema: schema, version: version, database: device.database))
        }
        let act = "replacement of the cloud's version \(token.number)"
        let pin = try await UndoRecorder(device: device).pendingPin(of: token.number, act: act)
        let (found, notes) = (restorers, warnings)
        return try device.database.write(at: .apply) { transaction in
            guard try transaction.state.applied() == applied else {
                throw SyncError(
                    .tryAgainLater, step: .apply, at: device.database.path, "another run changed the database meanwhile",
                    hint: "run the same command again")
            }
            var counts: [RestoreReport.Dataset] = []
            // Compare all rows before the first tracked change is written: the other connections see only committed data.
            let differences = try found.map { try $0.differences(transaction) }
            for (restorer, differing) in zip(found, differences) { counts.append(try track(differing, of: restorer, in: transaction)) }
            let report = RestoreReport(
                restored: "the data of this device", version: nil, datasets: counts, keptCopy: nil, versionBefore: token.number, warnings: notes)
            let fields = Dictionary(uniqueKeysWithValues: found.map { ($0.schema.name, $0.version.fields) })
            try transaction.keepFields(fields, of: device.settings.datasets, before: nil, now: AppliedVersion(token))
            try transaction.state.setApplied(AppliedVersion(token))
            try transaction.state.setView(nil)
            if report.hasChanged {
                try transaction.state.setUndoPoint(UndoPoint(act: act, at: device.now(), copy: nil, version: token.number))
                if let pin { try transaction.state.setPendingPins(transaction.state.pendingPins().filter { $0.version != pin.version } + [pin]) }
            }
            return report
        }
    }

    /// Tracks every difference as a change made now, with an instant later than the version's.
    private func track(
        _ differences: DatasetRestorer.Differences, of restorer: DatasetRestorer, in transaction: LocalTransaction
    ) throws -> RestoreReport.Dataset {
        let schema = restorer.schema
        try transaction.changeLog.discard(of: schema)
        let latest = restorer.version.fields.syncTimestamp
        let tail = try StoredTail(schema, in: transaction, notAfter: latest)
        try restorer.version.readTail(tail.visitor)
        try tail.finish(notAfter: latest)
        // The tracked changes must be later than everything in the version. No entity of the version counts as later than the version's own
        // timestamp.
        try transaction.datasetStates.set(DatasetState(name: schema.name, syncTimestamp: latest, recordCount: restorer.version.recordCount, unknownFields: []))
        let now = device.now()
        let known = (Array(differences.added.values) + differences.changed.values).flatMap(\.self)
        for (keys, isNew) in [(differences.removed, true), (known, false)] {
            for key in keys {
                let seen = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? differences.timestamps[key]
                try transaction.changeLog.record(key, of: schema, as: isNew ? .inserted : .touched, replacing: seen, at: now)
            }
        }
        try transaction.changeLog.consolidate(of: [schema])
        try transaction.tracking.setComplete(schema)
        // Entities that only the cloud has are removed there; rows that are only here are added there.
        return RestoreReport.Dataset(name: schema.name, added: differences.removed.count, changed: differences.changedCount, removed: differences.addedCount)
    }
}
