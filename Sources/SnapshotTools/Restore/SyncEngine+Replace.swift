import CloudStore
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

/// What `replace cloud` did.
public struct ReplaceCloudReport: Sendable, Encodable {
    /// What the cloud's newest version differed in.
    public let replaced: RestoreReport
    /// What was published then.
    public let exported: ExportReport
}

/// What `replace local` did.
public struct ReplaceLocalReport: Sendable, Encodable {
    /// What was imported.
    public let imported: ImportReport
    /// The number of the copy that holds what was here before; nil if that is a version.
    public let keptCopy: Int?
    /// The version that was applied before; nil if there was none.
    public let versionBefore: Int?
}

extension SyncEngine {
    /// Makes this device's data the zone's newest version, whatever the cloud has. Publishers only.
    ///
    /// The version that loses is pinned by the commit that replaces it, and ``undo(progress:)`` brings it back. To say so is to approve of it
    /// where much fewer entities are left, for readers too.
    public func replaceCloud(progress: ProgressHandler? = nil) async throws -> ReplaceCloudReport {
        try await locked {
            let device = try device()
            try await device.checkPublisher(.announce, else: "it cannot replace the cloud's data", hint: "run it on a device that publishes")
            try device.refuseUnknownFields()
            // What the replacer tracks would be published by the next sync, too, although this command was refused.
            try await device.verifyClock()
            let replaced = try await CloudReplacer(device: device).run()
            let exported = try await ExportRun(
                device: device, level: 1, isFull: false, isOneOfMany: device.isOneOfMany(), progress: progress, allowed: .all
            ).run()
            return ReplaceCloudReport(replaced: replaced, exported: exported)
        }
    }

    /// Makes the zone's newest version this device's data, whatever was changed here. Tracked changes are dropped.
    ///
    /// What was here is kept, as the version that it is or as a copy beside the database, and ``undo(progress:)`` brings it back. What a
    /// reader has told the publisher of it, and the publisher has not answered, is taken back.
    public func replaceLocal(progress: ProgressHandler? = nil) async throws -> ReplaceLocalReport {
        try await locked {
            let device = try device()
            _ = try device.keepTracking()
            // The import would do these first, too, and then take them for another program's changes of what was kept.
            let upstream = try await device.recoverAndFetchUpstreamChanges()
            try await device.correctFutureInstants()
            let kept = try await UndoRecorder(device: device).keep(act: "replacement of the local data")
            var importRun = ImportRun(device: device, progress: progress, discardsChanges: true)
            importRun.willReplace = { transaction in
                try kept.verify(transaction)
                try kept.record(transaction)
                try transaction.outbox.withdraw()
            }
            var imported = try await importRun.importNewest(upstream)
            if let warning = await device.removeWithdrawnMessages() { imported = imported.warning(warning) }
            return ReplaceLocalReport(imported: imported, keptCopy: kept.point.copy, versionBefore: kept.point.version)
        }
    }
}
