import CloudStore
import Foundation
import SnapshotEngine
import SnapshotModel
import SnapshotTools
import SnapshotVersions
import StrictText
import SyncRuns
import Synchronization
import TestSupport
import Testing

@testable import CloudKitCloud

/// Two devices of one user sync through CloudKit, as an application would let them.
@Suite(.timeLimit(.minutes(60))) struct CloudKitEngineTests {
    private struct World {
        let scratch: ScratchDirectory
        let account: FakeCloudKit
        let all = FakeCloudKit(isPublic: true)

        init(fault: @escaping @Sendable (FakeCloudKit.Request) -> FakeCloudKit.Fault? = { _ in nil }) async throws {
            scratch = try ScratchDirectory()
            account = FakeCloudKit(fault: fault)
        }

        /// The cloud as one device opens it: nothing is shared but CloudKit.
        func cloud(_ account: FakeCloudKit? = nil) async throws -> CloudKitCloud {
            try await CloudKitCloud.create(in: account ?? self.account, public: all, container: "iCloud.org.example.board", retry: .impatient(attempts: 40))
        }

        func setUp(_ name: String, _ role: SyncRole) async throws {
            let request = SetupRequest(database: path(name), cloud: "iCloud", role: role, device: name, createsTables: true, enables: true)
            _ = try await SyncEngine.setUp(request, in: cloud())
        }

        func engine(_ name: String) async throws -> SyncEngine { try SyncEngine(database: path(name), cloud: try await cloud()) }
        func path(_ name: String) -> String { scratch.path("\(name).db") }
        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path) }

        static let bucket = "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('one', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z');"
        /// More than a megabyte, which does not compress: the snapshot asset is an asset of CloudKit, and a later change goes into a change asset.
        static let many = """
            INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId)
            WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < 20000)
            SELECT 'n' || n, hex(randomblob(80)), '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'one' FROM numbers;
            """
    }

    @Test func rowsTravelThroughCloudKit() async throws {
        let world = try await World()
        try await world.setUp("desk", .writer)
        try world.shell("desk").run(World.bucket + World.many)
        let first = try await world.engine("desk").sync()
        #expect(first.exported?.version == 1)
        try await world.setUp("phone", .reader)
        #expect(try await world.engine("phone").sync().imported?.version == 1)
        #expect(try world.shell("phone").values(of: "notifications", orderedBy: "id") == world.shell("desk").values(of: "notifications", orderedBy: "id"))
        // The large asset is an asset of CloudKit.
        let names = world.account.state.withLock { $0.zones["ZentikSyncZone"]?.records.filter { $0.value.asset != nil }.keys.map(\.self) ?? [] }
        #expect(names.contains { $0.hasPrefix("assets/notifications_data/") && $0.hasSuffix(".json.gz") })

        // A small change is a small file.
        try world.shell("desk").run("UPDATE notifications SET title = 'changed', updatedAt = '2026-01-02T00:00:00Z' WHERE id IN ('n7', 'n19999')")
        let second = try await world.engine("desk").sync()
        #expect(second.exported?.written.map(\.kind) == [.changes])
        let imported = try await world.engine("phone").sync().imported
        #expect(imported?.datasets.map(\.changeFiles) == [1])
        #expect(try world.shell("phone").run("SELECT count(*) FROM notifications WHERE title = 'changed'") == "2\n")

        // A reader's edit comes back as a message; the reader then removes it from the mailbox.
        try world.shell("phone").run("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-03T00:00:00Z'")
        _ = try await world.engine("phone").sync()
        #expect(try await world.engine("desk").sync().exported?.messagesApplied == 1)
        #expect(try world.shell("desk").run("SELECT name FROM buckets") == "Home\n")
        _ = try await world.engine("phone").sync()
        #expect(world.account.state.withLock { $0.zones["ZentikSyncZone"]?.records.keys.contains { $0.hasPrefix("messages/") } } == false)

        // The tools read the same backend, and nothing is wrong.
        for name in ["desk", "phone"] { #expect(try await world.engine(name).inspector().verify(local: true).problems == []) }
        let status = try await world.engine("desk").status()
        #expect(status.version == 3 && status.devices.map(\.device).sorted() == ["desk", "phone"])
    }

    /// Every third request fails; nothing is lost, and both databases end alike.
    @Test func rowsTravelThroughAFailingCloudKit() async throws {
        let count = Counter()
        let world = try await World { _ in
            let number = count.next()
            switch number % 6 {
            case 2: return .refused(CloudKitError(.zoneBusy, retryAfter: .seconds(2)))
            case 5: return .doneBut(CloudKitError(.networkFailure))
            default: return nil
            }
        }
        try await world.setUp("desk", .writer)
        try await world.setUp("phone", .reader)
        try world.shell("desk").run(World.bucket)
        for number in 1...6 {
            try world.shell("desk").run(
                "INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n\(number)', 'N', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'one')"
            )
            _ = try await world.engine("desk").sync()
            #expect(try await world.engine("phone").sync().imported?.version == number)
        }
        #expect(try world.shell("phone").values(of: "notifications", orderedBy: "id") == world.shell("desk").values(of: "notifications", orderedBy: "id"))
        #expect(try await world.engine("phone").inspector().verify(local: true).problems == [])
    }

    /// Another user signed in: the private database is another one, and nothing of the first user's goes there.
    @Test func anotherUsersDatabaseIsRefused() async throws {
        let world = try await World(), other = FakeCloudKit()
        try await world.setUp("desk", .writer)
        try world.shell("desk").run(World.bucket)
        _ = try await world.engine("desk").sync()
        let engine = try SyncEngine(database: world.path("desk"), cloud: try await world.cloud(other))
        try world.shell("desk").run("UPDATE buckets SET name = 'Secret', updatedAt = '2026-01-02T00:00:00Z'")
        await #expect { try await engine.sync() } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(other.state.withLock { $0.zones.keys.sorted() } == [""])
        // Nobody signed in is told as such, and the next sync goes on.
        world.account.state.withLock { $0.status = .noAccount }
        let error = await #expect(throws: (any Error).self) { try await world.engine("desk").sync() }
        #expect(PresentableError(try #require(error)).identifier == "cloud.notAuthenticated")
        world.account.state.withLock { $0.status = .available }
        #expect(try await world.engine("desk").sync().exported?.version == 2)
    }

    @Test func aPushWakesWhoeverWaits() async throws {
        let world = try await World()
        try await world.setUp("desk", .writer)
        let cloud = try await world.cloud()
        let wait = ZoneWait(for: .standard, of: cloud, every: .seconds(86_400))
        // The push may come before anybody waits: it counts all the same.
        cloud.receivedPush(for: .standard)
        #expect(await wait.next())
    }

    /// Old versions go by the engine's own rules, in few requests.
    @Test func oldVersionsArePruned() async throws {
        let world = try await World()
        try await world.setUp("desk", .writer)
        try world.shell("desk").run(World.bucket)
        for number in 1...4 {
            try world.shell("desk").run("UPDATE buckets SET name = 'v\(number)', updatedAt = '2026-01-0\(number)T00:00:00Z'")
            _ = try await world.engine("desk").sync()
        }
        let before = try await world.cloud().storedFiles(in: .standard)
        #expect(before.count { if case .commit = $0.kind { true } else { false } } == 4)
        let policy = RetentionPolicy(keepLast: 1, keepWithin: nil, minimumAge: .zero, grace: .zero)
        _ = try await world.engine("desk").versions.prune(policy)
        let after = try await world.cloud().storedFiles(in: .standard)
        #expect(after.count { if case .commit = $0.kind { true } else { false } } < 4 && after.count < before.count)
        #expect(try await world.engine("desk").inspector().verify(local: true).problems == [])
        // A device that comes now reads what is kept.
        try await world.setUp("phone", .reader)
        _ = try await world.engine("phone").sync()
        #expect(try world.shell("phone").run("SELECT name FROM buckets") == "v4\n")
    }
}
