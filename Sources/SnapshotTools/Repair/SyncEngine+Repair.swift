import CloudStore
import DirectoryCloud
import LocalStore
public import SnapshotEngine
import SnapshotVersions

extension SyncEngine {
    /// Brings back what is damaged or missing in the zone: from other assets, from this database's rows, from the commits.
    ///
    /// No file is replaced or removed: a damaged one gets a name that readers ignore, and the whole one its own. Nothing is changed
    /// in the database.
    ///
    /// - Parameter dryRun: only says what it would do; what can be mended only after something else is mended counts as lost then.
    /// - Throws: ``SyncError`` with `.refused` for a cloud that is no directory, and where the zone cannot be read or written at all.
    public func repair(dryRun: Bool = false) async throws -> RepairReport {
        try await gate.enter()
        return try await locked {
            let device = try device()
            let (cloud, signedZone) = try SyncError.at(.open) { try openToLook(device.settings) }
            guard let directory = (signedZone?.cloud ?? cloud) as? DirectoryCloud else {
                throw SyncError(.refused, step: .open, at: "repair", "the cloud is no directory", hint: "repair it with its own tools")
            }
            let applied = try database.read(at: .read) { try $0.state.applied() }
            return try await ZoneRepair(directory: directory, zone: device.zone, device: device, applied: applied, dryRun: dryRun).run()
        }
    }
}

extension SnapshotInspector {
    /// Brings back what is damaged or missing in a zone, without any database: from other assets and from the commits.
    ///
    /// See ``SyncEngine/repair(dryRun:)``.
    public static func repair(cloud path: String, zone: String = "ZentikSyncZone", dryRun: Bool = false) async throws -> RepairReport {
        try await WorkerThreads.host {
            let directory = try SyncError.at(.open) { try DirectoryCloud(path: path) }
            return try await ZoneRepair(directory: directory, zone: ZoneID(zone), device: nil, applied: nil, dryRun: dryRun).run()
        }
    }
}
