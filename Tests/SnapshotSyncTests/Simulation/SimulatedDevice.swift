import CloudStore
import LocalStore
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

    /// The entities of which there are notes or changes, with the changes' instants in microseconds; nil for a note alone.
    func tracked() throws -> [String: Int64?] {
        try database.read { transaction in
            var found: [String: Int64?] = [:]
            for schema in DatasetSchema.builtIn {
                for key in try transaction.changeLog.touchedKeys(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) {
                    guard case .text(let bytes) = key else { continue }
                    found.updateValue(
                        try transaction.changeLog.change(of: key, in: schema)?.instant.microseconds,
                        forKey: "\(schema.name)/\(String(decoding: bytes, as: UTF8.self))")
                }
            }
            return found
        }
    }

    /// The instant of an entity as it is here, in microseconds; nil if there is none.
    func instant(of entity: SimulatedEntity) throws -> Int64? {
        try database.read { try $0.changeLog.instant(of: EntityKey(entity.id), in: entity.kind == .buckets ? .buckets : .notifications)?.microseconds }
    }
}
