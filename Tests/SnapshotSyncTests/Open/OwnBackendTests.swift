import CloudStore
import Foundation
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

/// An application tests its syncing against `MemoryCloudDatabase`: no directory, no file of a cloud. docs/embedding.md shows the same code.
@Suite(.timeLimit(.minutes(60))) struct OwnBackendTests {
    /// Two databases of an application and the cloud between them.
    private struct Application {
        let scratch: ScratchDirectory
        let cloud = MemoryCloudDatabase()

        init() async throws {
            scratch = try ScratchDirectory()
            for (name, role) in [("desk", SyncRole.writer), ("phone", .reader)] { _ = try await SyncEngine.setUp(request(name, role), in: cloud) }
        }

        func request(_ name: String, _ role: SyncRole) -> SetupRequest {
            SetupRequest(database: scratch.path("\(name).db"), cloud: "memory", role: role, device: name, createsTables: true, enables: true)
        }

        func engine(_ name: String) throws -> SyncEngine { try SyncEngine(database: scratch.path("\(name).db"), cloud: cloud) }

        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path, isProgram: true) }

        func insertBucket(_ name: String) throws {
            try shell("desk").run(
                "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(name)', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")
        }
    }

    @Test func rowsTravelThroughMemory() async throws {
        let application = try await Application()
        try application.insertBucket("one")
        #expect(try await application.engine("desk").sync().exported?.version == 1)
        #expect(try await application.engine("phone").sync().imported?.version == 1)
        #expect(try application.shell("phone").run("SELECT id, name FROM buckets") == "one|Work\n")
        // A reader's change goes the other way, as a message.
        try application.shell("phone").run("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z'")
        _ = try await application.engine("phone").sync()
        _ = try await application.engine("desk").sync()
        #expect(try application.shell("desk").run("SELECT name FROM buckets") == "Home\n")
        // The tools read the same backend.
        let status = try await application.engine("desk").status()
        #expect(status.version == 2 && status.cloud == "memory")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: application.scratch.path).allSatisfy { $0.hasPrefix("desk.db") || $0.hasPrefix("phone.db") })
    }

    @Test func anotherCloudIsRefusedAndStaysEmpty() async throws {
        let application = try await Application()
        try application.insertBucket("one")
        let other = MemoryCloudDatabase()
        let engine = try SyncEngine(database: application.scratch.path("desk.db"), cloud: other)
        await #expect { try await engine.sync() } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(try await other.zones().isEmpty)
        #expect(try await application.engine("desk").sync().exported?.version == 1)
    }

    @Test func storeOpensWithTheBackend() async throws {
        let application = try await Application()
        let path = application.scratch.path("store.db")
        let store = try await SnapshotStore.open(database: path, in: application.cloud, setup: application.request("store", .reader), createsTables: true)
        #expect(store.report.level == .cloud && store.report.givenUp.isEmpty)
        let other = try await SnapshotStore.open(
            database: application.scratch.path("other.db"), in: application.cloud, setup: application.request("other", .reader),
            options: EngineOptions(container: "iCloud.org.example.food"))
        #expect(other.report.givenUp.map(\.error.identifier) == ["cloud.badContainer"])
    }

    @Test func facadeWorksOnTheBackend() async throws {
        let application = try await Application()
        try application.insertBucket("one")
        func manager(_ name: String) -> CloudKitSyncManager {
            CloudKitSyncManager(.init(database: application.scratch.path("\(name).db"), cloud: application.cloud))
        }
        let (desk, phone) = (manager("desk"), manager("phone"))
        let sent = await withCheckedContinuation { done in desk.syncAllToCloudKit { success, buckets, _ in done.resume(returning: success ? buckets : -1) } }
        #expect(sent == 1 && desk.lastError == nil)
        let names = await withCheckedContinuation { done in phone.fetchBucketsFromCloudKit { done.resume(returning: $0.map(\.name)) } }
        #expect(names == ["Work"] && phone.lastError == nil)
    }

    @Test func watchPollsTheBackend() async throws {
        let application = try await Application()
        let polled = Mutex(false)
        let watcher = SyncWatcher(engine: try application.engine("phone"), options: WatchOptions(poll: .milliseconds(50)))
        let watch = Task { try await watcher.run { event in if case .polling = event { polled.withLock { $0 = true } } } }
        try application.insertBucket("one")
        _ = try await application.engine("desk").sync()
        try await Eventually.holds("the row has come") { try application.shell("phone").run("SELECT count(*) FROM buckets") == "1\n" }
        watch.cancel()
        try await watch.value
        #expect(polled.withLock { $0 })
    }
}
