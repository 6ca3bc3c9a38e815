import CloudStore
import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions

/// The result of `replace cloud`.
public struct ReplaceCloudReport: Sendable, Encodable {
    /// The differences from the cloud's newest version.
    public let replaced: RestoreReport
    /// The export that followed.
    public let exported: ExportReport
}

/// The result of `replace local`.
public struct ReplaceLocalReport: Sendable, Encodable {
    /// What was imported.
    public let imported: ImportReport
    /// The number of the backup of the previous data; nil if that data is a version.
    public let keptCopy: Int?
    /// The previously applied version; nil if there was none.
    public let versionBefore: Int?
}

extension SyncEngine {
    /// Publishes this device's data as the zone's newest version, whatever the cloud contains. Publishers only.
    ///
    /// The commit that replaces the losing version also pins it, and ``undo(progress:)`` restores it. The call also approves a large loss of
    /// entities for the shrink guards, including those of readers.
    public func replaceCloud(progress: ProgressHandler? = nil) async throws -> ReplaceCloudReport {
        try await locked {
            let device = try device()
            try await device.checkPublisher(.announce, else: "it cannot replace the cloud's data", hint: "run it on a device that publishes")
            try device.refuseUnknownFields()
            // Check the clock before anything is tracked. Otherwise the next sync would publish the tracked differences although this command
            // was refused.
            try await device.verifyClock()
            let replaced = try await CloudReplacer(device: device).run()
            let exported = try await ExportRun(
                device: device, level: 1, isFull: false, isOneOfMany: device.isOneOfMany(), progress: progress, allowed: .all
            ).run()
            return ReplaceCloudReport(replaced: replaced, exported: exported)
        }
    }

    /// Replaces this device's data with the zone's newest version and drops the tracked changes.
    ///
    /// The previous data is kept as a version or as a backup beside the database, and ``undo(progress:)`` restores it. A reader withdraws its
    /// messages about dropped changes that the publisher has not answered.
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
            }
            var imported = try await importRun.importNewest(upstream)
            if let warning = await device.removeWithdrawnMessage() { imported = imported.warning(warning) }
            return ReplaceLocalReport(imported: imported, keptCopy: kept.point.copy, versionBefore: kept.point.version)
        }
    }
}
