import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText

/// A device: its database, the application that writes it, its clock, and the folder in which it sees the cloud.
final class SimulatedDevice {
    let name: String
    let role: SyncRole
    /// The path of the folder on the simulated disk.
    let root: String
    let path: String
    let app: SimulatedApp
    let database: LocalDatabase
    /// What the clock goes by, in milliseconds.
    let tick: Int64
    /// What the clock is always off by, in milliseconds: no two devices read the same time at once.
    let shift: Int64
    /// How far the clock is off at the moment, in milliseconds.
    var skew: Int64 = 0

    init(_ name: String, _ role: SyncRole, root: String, path: String, isWAL: Bool, tick: Int64, shift: Int64) throws {
        (self.name, self.role, self.root, self.path, self.tick, self.shift) = (name, role, root, path, tick, shift)
        app = try SimulatedApp(path: path, isWAL: isWAL)
        database = try LocalDatabase(path: path)
        _ = try database.write { try $0.tables.createBuiltIn() }
    }

    func initialize(zone: ZoneID, cloudUUID: String) throws {
        let settings = SyncSettings(
            cloud: "/none", cloudUUID: cloudUUID, scope: zone.scope.rawValue, zone: zone.name, role: role, device: name, datasets: DatasetSchema.builtIn,
            replacesOwnRows: false)
        try database.write { transaction in
            try transaction.initialize(settings)
            _ = try transaction.tracking.install(settings.datasets)
        }
    }

    /// The clock in whole ticks, in milliseconds, when the world's says `milliseconds`.
    func clock(_ milliseconds: Int64) -> Int64 { (milliseconds + skew) / tick * tick + shift }

    /// The version that is here; 0 for none.
    func applied() throws -> Int { try database.read { try $0.state.applied()?.number ?? 0 } }

    /// All rows, by dataset and id.
    func rows() throws -> [String: SimulatedEntity] {
        var found: [String: SimulatedEntity] = [:]
        for row in try app.fetch("SELECT id, name, updatedAt, CAST(isOrphan AS TEXT) FROM buckets") {
            found["buckets/\(row[0] ?? "")"] = SimulatedEntity(
                kind: .buckets, id: row[0] ?? "", title: row[1] ?? "", updatedAt: row[2] ?? "", isOrphan: row[3] == "1")
        }
        for row in try app.fetch("SELECT id, title, updatedAt, readAt, bucketId FROM notifications") {
            found["notifications/\(row[0] ?? "")"] = SimulatedEntity(
                kind: .notifications, id: row[0] ?? "", title: row[1] ?? "", updatedAt: row[2] ?? "", readAt: row[3], bucket: row[4])
        }
        return found
    }
}
