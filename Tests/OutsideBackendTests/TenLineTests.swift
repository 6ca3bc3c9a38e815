import Foundation
import GRDB
import SnapshotSync
import Testing

/// The ten lines of docs/embedding.md, in another package's application.
@Suite(.timeLimit(.minutes(10))) struct TenLineTests {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-lines-\(UUID().uuidString)")

    private func database(_ name: String, _ sql: String = "") throws -> DatabasePool {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let pool = try DatabasePool(path: folder.appendingPathComponent("\(name).db").path)
        try pool.write { try $0.execute(sql: sql) }
        return pool
    }

    private static let tables = "CREATE TABLE products(number TEXT PRIMARY KEY NOT NULL, name TEXT); CREATE TABLE drafts(id TEXT PRIMARY KEY NOT NULL);"

    @Test func rowArrivesAndIsSeen() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let share = SyncLocation.folder(folder.appendingPathComponent("share").path)
        let office = try database("office", Self.tables + "INSERT INTO products VALUES('1', 'Tea')"), till = try database("till")
        let sender = try await SyncEngine(office, location: share, role: .peer, tables: .all(except: ["drafts"]))
        #expect("\(sender.state)" == "off")
        try sender.setEnabled(true)
        #expect("\(sender.state)" == "idle(last: nil)")
        #expect(try await sender.sync().exported?.version == 1)
        #expect("\(sender.state)" != "idle(last: nil)" && "\(sender.state)".hasPrefix("idle"))

        let sync = try await SyncEngine(till, location: share, role: .peer)
        try sync.setEnabled(true)
        let changes = sync.changes
        let tasks = [sender, sync].map { engine in Task { try await engine.run() } }
        defer { for task in tasks { task.cancel() } }
        var keys: [String] = []
        for await change in changes where change.table == "products" {
            keys += (change.keys ?? []).compactMap(\.text)
            if keys.contains("2") { break }
            try await office.write { try $0.execute(sql: "INSERT OR IGNORE INTO products VALUES('2', 'Milk')") }
        }
        #expect(keys == ["1", "2"])
        #expect(try await till.read { try String.fetchAll($0, sql: "SELECT name FROM products ORDER BY number") } == ["Tea", "Milk"])
        for task in tasks { task.cancel(); try await task.value }

        let again = try await SyncEngine(till, location: share, role: .peer)
        #expect(try again.conflicts.list().conflicts.isEmpty)
        #expect(try await again.versions.list(limit: 1).versions.count == 1)
        #expect(try await again.versions.restore(.version(1)).hasChanged)
        #expect(try await till.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM products") } == 1)
        for (location, role) in [(share, SyncRole.reader), (.folder(folder.path), .peer), (.memory(), .peer), (.bucket("s3://shop/app"), .peer)] {
            await #expect { try await SyncEngine(till, location: location, role: role) } throws: {
                ($0 as? SyncError)?.code == .refused && "\($0)".contains("is set up \(role == .peer ? "with" : "as a peer, not as a reader")")
            }
        }
        // The share is mounted elsewhere.
        try FileManager.default.moveItem(at: folder.appendingPathComponent("share"), to: folder.appendingPathComponent("moved"))
        let moved = SyncLocation.folder(folder.appendingPathComponent("moved").path)
        #expect(try await SyncEngine(till, location: moved, role: .peer).sync().exported?.version == 3)
    }

    @Test func readerGetsTheZonesTables() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let memory = SyncLocation.memory()
        let writer = try await SyncEngine(try database("one", Self.tables), location: memory, role: .writer, tables: .only(["products"]), zone: "shop")
        try writer.setEnabled(true)
        _ = try await writer.sync()
        let copy = try database("two")
        let reader = try await SyncEngine(copy, location: memory, role: .reader) { $0.device = "two" }
        try reader.setEnabled(true)
        #expect(try await reader.sync().imported?.version == 1)
        #expect(try await copy.read { try $0.tableExists("products") && !$0.tableExists("drafts") })
    }
}
