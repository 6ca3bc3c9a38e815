import CloudStore
import Foundation
import GRDB
import SnapshotModel
import SnapshotSync
import StoreConformance
import Testing

/// Another package can write a whole backend, messages among it. docs/embedding.md shows the same.
@Suite(.timeLimit(.minutes(60))) struct OutsideBackendTests {
    @Test(arguments: StoreConformance.checks, [1, 4])
    func storeKeepsThePromise(_ check: StoreCheck, width: Int) async throws { try await StoreConformance { Shelf(width: width) }.run(check) }

    @Test func storeThatHoldsOtherThingsIsLeftAlone() async throws {
        let shelf = Shelf()
        _ = shelf.put([1], as: "letters/1")
        await #expect { try await CloudDatabase.create(in: shelf, container: "iCloud.org.example.test") } throws: {
            ($0 as? CloudError)?.code == .notACloud
        }
        #expect(shelf.list("", first: nil).map(\.path) == ["letters/1"])
        await #expect { try await CloudDatabase(shelf).zones() } throws: { ($0 as? CloudError)?.code == .notACloud }
    }

    /// Two databases of an application on a backend of its own: a row goes to the reader, and the reader's change comes back as a message.
    private func exchange(over cloud: CloudDatabase, betweenSyncs check: () -> Void = {}) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-outside-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func path(_ name: String) -> String { folder.appendingPathComponent("\(name).db").path }
        for (name, role) in [("desk", SyncRole.writer), ("phone", .reader)] {
            _ = try await SyncEngine.setUp(
                SetupRequest(database: path(name), cloud: "own", role: role, device: name, createsTables: true, enables: true), in: cloud)
        }
        let desk = try SyncEngine(database: path("desk"), cloud: cloud), phone = try SyncEngine(database: path("phone"), cloud: cloud)
        try await DatabaseQueue(path: path("desk")).write {
            try $0.execute(sql: "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('one', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")
        }
        #expect(try await desk.sync().exported?.version == 1)
        #expect(try await phone.sync().imported?.version == 1)
        try await DatabaseQueue(path: path("phone")).write {
            #expect(try String.fetchOne($0, sql: "SELECT name FROM buckets") == "Work")
            try $0.execute(sql: "UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z'")
        }
        _ = try await phone.sync()
        check()
        _ = try await desk.sync()
        #expect(try await DatabaseQueue(path: path("desk")).read { try String.fetchOne($0, sql: "SELECT name FROM buckets") } == "Home")
        _ = try await phone.sync()
        let mailbox = try await cloud.mailbox(in: .standard)
        #expect(mailbox.messages.isEmpty && mailbox.unreadCount == 0)
    }

    @Test func rowsAndMessagesTravelOverAStoreOfObjects() async throws {
        try await exchange(over: try await CloudDatabase.create(in: Shelf(), container: "iCloud.org.example.test"))
    }

    @Test func messagesTravelAWayOfTheirOwn() async throws {
        let store = RelayedMessages()
        try await exchange(over: try await CloudDatabase.create(in: store, container: "iCloud.org.example.test")) { #expect(store.count == 1) }
    }
}
