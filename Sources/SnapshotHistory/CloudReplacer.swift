import CloudStore
import LocalStore
import LocalTables
package import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

/// Makes this device's data win over the zone's newest version: every difference is tracked as a change made now.
///
/// No row is changed. The newest version becomes the applied one, and the commit that follows pins it, so that it can be restored.
struct CloudReplacer: Sendable {
    let context: SyncContext

    /// Returns the differences from the newest version, which is the applied version from now on.
    func run() async throws -> RestoreReport {
        let warnings = try context.keepTracking()
        let applied = try context.database.read { try $0.state.applied() }
        let head = try await context.cloud.records(in: context.zone, at: nil, notBefore: applied?.token)
        guard let token = head.token else {
            throw SyncError(
                .nothingThere, step: .fetch, at: context.zone.place, "nothing has been published yet, so there is nothing to replace",
                hint: "run snapsync export")
        }
        let (found, lacking) = try await DatasetRestorer.all(of: head, only: nil, in: context.cloud, zone: context.zone, on: context)
        let act = "replacement of the location's version \(token.number)"
        let pin = try await UndoRecorder(context: context).pendingPin(of: token.number, act: act)
        let notes = warnings + lacking.map { "the zone has no dataset \($0) yet" }
        return try context.database.write { transaction in
            guard try transaction.state.applied() == applied else {
                throw SyncError(
                    .tryAgainLater, step: .apply, at: context.database.path, "another run changed the database meanwhile",
                    hint: "run the same command again")
            }
            var counts: [RestoreReport.Dataset] = []
            // Compare all rows before the first tracked change is written: the other connections see only committed data.
            let differences = try found.map { try $0.differences(transaction) }
            for (restorer, differing) in zip(found, differences) { counts.append(try track(differing, of: restorer, in: transaction)) }
            let report = RestoreReport(
                restored: "the data of this device", version: nil, datasets: counts, keptCopy: nil, versionBefore: token.number, warnings: notes)
            let fields = Dictionary(uniqueKeysWithValues: found.map { ($0.schema.name, $0.version.fields) })
            try transaction.keepFields(fields, of: context.settings.datasets, before: nil, now: AppliedVersion(token))
            try transaction.state.setApplied(AppliedVersion(token))
            if report.hasChanged {
                try transaction.state.undoPoint.set(UndoPoint(act: act, at: context.now(), copy: nil, version: token.number))
                if let pin { try transaction.state.pendingPins.set(transaction.state.pendingPins().filter { $0.version != pin.version } + [pin]) }
            }
            return report
        }
    }

    /// Tracks every difference as a change made now, with an instant later than the version's.
    private func track(
        _ differences: DatasetRestorer.Differences, of restorer: DatasetRestorer, in transaction: LocalTransaction
    ) throws -> RestoreReport.Dataset {
        let schema = restorer.schema
        let held = HeldRowRestorer(transaction: transaction, schema: schema, publishes: true, now: context.now()), rows = try held.rows().mapValues(\.values)
        try transaction.changeLog.discard(of: schema)
        let latest = restorer.version.fields.syncTimestamp
        let tail = try StoredTail(schema, in: transaction, notAfter: latest)
        try restorer.version.readTail(tail.visitor)
        try tail.finish(notAfter: latest)
        // The tracked changes must be later than everything in the version. No entity of the version counts as later than the version's own
        // timestamp.
        try transaction.datasetStates.set(DatasetState(name: schema.name, syncTimestamp: latest, recordCount: restorer.version.recordCount, unknownFields: []))
        let now = context.now()
        let known = (Array(differences.added.values) + differences.changed.values).flatMap(\.self)
        for (keys, isNew) in [(differences.removed, true), (known, false)] {
            for key in keys {
                let seen = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? differences.timestamps[key]
                try transaction.changeLog.record(key, of: schema, as: isNew ? .inserted : .touched, replacing: seen, at: now)
            }
        }
        try transaction.changeLog.consolidate(of: [schema])
        try transaction.tracking.setComplete(schema)
        let heldCount = try held.differences(from: rows).count
        try held.restore(rows)
        // Entities that only the cloud has are removed there; rows that are only here are added there.
        return RestoreReport.Dataset(
            name: schema.name, added: differences.removed.count, changed: differences.changedCount, removed: differences.addedCount, held: heldCount)
    }
}

/// The result of `replace cloud`.
package struct ReplaceCloudReport: Sendable, Encodable {
    /// The differences from the cloud's newest version.
    package let replaced: RestoreReport
    /// The export that followed.
    package let exported: ExportReport
}

/// The result of `replace local`.
package struct ReplaceLocalReport: Sendable, Encodable {
    /// What was imported.
    package let imported: ImportReport
    /// The number of the backup of the previous data; nil if that data is a version.
    package let keptCopy: Int?
    /// The previously applied version; nil if there was none.
    package let versionBefore: Int?
}

extension SyncVersions {
    /// Publishes this device's data as the zone's newest version, whatever the cloud contains. Publishers only.
    ///
    /// The commit that replaces the losing version also pins it, and ``undo(progress:)`` restores it. The call also approves a large loss of
    /// entities for the shrink guards, including those of readers.
    package func replaceCloud(progress: ProgressHandler? = nil) async throws -> ReplaceCloudReport {
        try await engine.locked {
            let context = try engine.context()
            try await context.checkPublisher(.announce, else: "it cannot replace the location's data", hint: "run it on a device that publishes")
            try context.refuseUnknownFields()
            // Check the clock before anything is tracked. Otherwise the next sync would publish the tracked differences although this command
            // was refused.
            try await context.verifyClock()
            let replaced = try await CloudReplacer(context: context).run()
            let exported = try await ExportRun(
                context: context, isFull: false, isOneOfMany: context.isOneOfMany(), progress: progress, allowed: .all
            ).run()
            return ReplaceCloudReport(replaced: replaced, exported: exported)
        }
    }

    /// Replaces this device's data with the zone's newest version and drops the tracked changes.
    ///
    /// The previous data is kept as a version or as a backup beside the database, and ``undo(progress:)`` restores it. A reader withdraws its
    /// messages about dropped changes that the publisher has not answered.
    package func replaceLocal(progress: ProgressHandler? = nil) async throws -> ReplaceLocalReport {
        try await engine.locked {
            let context = try engine.context()
            _ = try context.keepTracking()
            // The import would do these first, too, and then take them for another program's changes of what was kept.
            let upstream = try await context.recoverAndFetchUpstreamChanges()
            try await context.correctFutureInstants()
            let kept = try await UndoRecorder(context: context).keep(act: "replacement of the local data")
            var importRun = ImportRun(context: context, progress: progress, discardsChanges: true)
            importRun.willReplace = { transaction in
                try kept.verify(transaction)
                try kept.record(transaction)
            }
            var imported = try await importRun.importNewest(upstream)
            if let warning = await context.removeWithdrawnMessage() { imported = imported.warning(warning) }
            return ReplaceLocalReport(imported: imported, keptCopy: kept.point.copy, versionBefore: kept.point.version)
        }
    }
}
