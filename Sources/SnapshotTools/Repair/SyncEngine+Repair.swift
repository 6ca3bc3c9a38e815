import CloudStore
import DirectoryCloud
import LocalStore
public import SnapshotEngine
import SnapshotVersions

extension SyncEngine {
    /// Restores what is damaged or missing in the zone: from other assets, from this database's rows, and from the commits.
    ///
    /// No file is overwritten or removed: a damaged file is renamed so that readers ignore it, and the repaired file gets its name. The database
    /// is not changed.
    ///
    /// - Parameter dryRun: whether to only report what would be done. What can be repaired only after another file counts as lost then.
    /// - Throws: ``SyncError`` with `.refused` for a cloud that is no directory, and errors if the zone cannot be read or written at all.
    public func repair(dryRun: Bool = false) async throws -> RepairReport {
        try await gate.enter()
        return try await locked {
            let device = try device()
            let (cloud, signedZone) = try SyncError.at(.open) { try openToLook(device.settings) }
            guard let directory = (signedZone?.cloud ?? cloud) as? DirectoryCloud else {
                throw SyncError(
                    .refused, step: .open, at: "repair", "repair works on folders only",
                    hint: "for a bucket, restore the object from the versions that the store keeps")
            }
            let applied = try database.read(at: .read) { try $0.state.applied() }
            return try await ZoneRepair(directory: directory, zone: device.zone, device: device, applied: applied, dryRun: dryRun).run()
        }
    }
}

extension SnapshotInspector {
    /// Restores what is damaged or missing in a zone, without a database: from other assets and from the commits.
    ///
    /// See ``SyncEngine/repair(dryRun:)``.
    public static func repair(cloud path: String, zone: String = "ZentikSyncZone", dryRun: Bool = false) async throws -> RepairReport {
        try await WorkerThreads.host {
            let directory = try SyncError.at(.open) { try DirectoryCloud(path: path) }
            return try await ZoneRepair(directory: directory, zone: ZoneID(zone), device: nil, applied: nil, dryRun: dryRun).run()
        }
    }
}
