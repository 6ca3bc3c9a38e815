import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport

@testable import SnapshotEngine
@testable import SnapshotTools

/// Peers with one table of their own, and the zone in memory that they share.
struct PeerScene {
    let scratch: ScratchDirectory
    let cloud = MemoryCloudDatabase()
    let zone = ZoneID.standard
    let schema: DatasetSchema

    /// Makes peers of these names; the first one has made the zone, and all have its first version, with the entities `a` and `b`.
    init(_ names: String...) async throws {
        scratch = try ScratchDirectory()
        schema = try DatasetSchema(
            name: "things", table: "things", keys: ["id"], timestamp: "changed",
            columns: [DatasetColumn("id", .text), DatasetColumn("changed", .text, isOptional: true), DatasetColumn("note", .text, isOptional: true)])
        _ = try await cloud.createZone(zone, creator: names[0], publishers: .many)
        for name in names {
            try run(name, "CREATE TABLE things(id TEXT PRIMARY KEY NOT NULL, changed TEXT, note TEXT)")
            if name == names[0] { try run(name, "INSERT INTO things VALUES('a', '2026-01-01T00:00:00Z', 'first'), ('b', '2026-01-01T00:00:00Z', 'first')") }
            let settings = SyncSettings(
                cloud: "/none", cloudUUID: try await cloud.identity().uuid, scope: zone.scope.rawValue, zone: zone.name, role: .peer, device: name,
                datasets: [schema], replacesOwnRows: false)
            try LocalDatabase(path: scratch.path(name)).write { transaction in
                try transaction.initialize(settings)
                _ = try transaction.tracking.install([schema])
            }
            try await sync(name)
        }
    }

    /// Runs SQL in a process of its own and returns what it prints.
    @discardableResult
    func run(_ name: String, _ sql: String) throws -> String { try SQLiteShell(name, in: scratch.path).run(sql) }

    func engine(_ name: String, _ cloud: CloudDatabase? = nil) throws -> SyncEngine {
        let cloud = cloud ?? self.cloud
        return try SyncEngine(database: scratch.path(name), options: EngineOptions { _ in cloud })
    }

    @discardableResult
    func sync(_ name: String, _ cloud: CloudDatabase? = nil) async throws -> SyncReport { try await engine(name, cloud).sync() }

    /// `a=note b=note`, in the order of keys.
    func notes(_ name: String) throws -> String {
        try run(name, "SELECT group_concat(id || '=' || note, ' ') FROM (SELECT * FROM things ORDER BY id)").trimmingSuffix { $0 == "\n" }
    }

    /// How many changes wait to be published.
    func changes(_ name: String) async throws -> Int { try await engine(name).status().datasets[0].changes }
}

extension String {
    fileprivate func trimmingSuffix(_ isTrimmed: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, isTrimmed(last) { text.removeLast() }
        return text
    }
}
