import CloudKitCloud
import SnapshotEngine
import SnapshotModel
import SyncRuns
import TestSupport
import Testing

// The example of the article in Sources/CloudKitCloud/CloudKitCloud.docc, as it stands there: ``ArticleTests`` compares it.

func openInCloudKit(_ path: String, over database: some CloudKitDatabase, as device: String) async throws -> SyncEngine {
    let cloud = try await CloudKitCloud.create(in: database, container: "iCloud.org.example.board")
    let request = SetupRequest(database: path, cloud: "iCloud", role: .peer, device: device, createsTables: true, enables: true)
    _ = try await SyncEngine.setUp(request, in: cloud)
    return try SyncEngine(database: path, cloud: cloud)
}

/// It does what the article says, for two devices that both edit.
@Suite(.timeLimit(.minutes(60))) struct ArticleExampleTests {
    @Test func exampleOfTheArticleWorks() async throws {
        let scratch = try ScratchDirectory(), account = FakeCloudKit()
        let phone = try await openInCloudKit(scratch.path("phone.db"), over: account, as: "phone")
        try SQLiteShell("phone.db", in: scratch.path).run(
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('one', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")
        #expect(try await phone.sync().exported?.version == 1)
        let tablet = try await openInCloudKit(scratch.path("tablet.db"), over: account, as: "tablet")
        #expect(try await tablet.sync().imported?.version == 1)
        try SQLiteShell("tablet.db", in: scratch.path).run("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z'")
        #expect(try await tablet.sync().exported?.version == 2)
        #expect(try await phone.sync().imported?.version == 2)
        #expect(try SQLiteShell("phone.db", in: scratch.path).run("SELECT name FROM buckets") == "Home\n")
    }
}
