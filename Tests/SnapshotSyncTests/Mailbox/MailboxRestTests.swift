import CloudStore
import DirectoryCloud
import Foundation
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import SnapshotEngine

/// When a publisher lists the mailbox, and when it rests on what it saw there.
@Suite struct MailboxRestTests {
    /// Counts the looks into a mailbox.
    private final class ListingCount: CloudLayer {
        private let count = Mutex(0)

        func takeCount() -> Int {
            count.withLock { count in
                defer { count = 0 }; return count
            }
        }

        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws { if case .mailbox = call { count.withLock { $0 += 1 } } }
    }

    private let scratch: ScratchDirectory
    private let scene: SyncScene
    private let directory: DirectoryCloud

    init() async throws {
        scratch = try ScratchDirectory()
        directory = try DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example.rest")
        scene = try await SyncScene(MailScene.tables, datasets: DatasetSchema.builtIn, cloud: directory)
        try scene.writer.run("INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL)")
        try await scene.export()
        try await scene.importNewest()
        try toTheHour()
    }

    /// Moves the clock to just after the beginning of an hour, if it is not in the first half of one.
    private func toTheHour() throws {
        let seconds = scene.clock.now().microseconds / 1_000_000 % 3600
        if seconds > 1800 { scene.clock.move(bySeconds: 3605 - seconds) }
    }

    private func sync(_ count: ListingCount) async throws -> (published: Bool, listings: Int) {
        let report = try await scene.engine("writer.db", cloud: directory.adding(count)).sync()
        return (report.exported?.published == true, count.takeCount())
    }

    @Test func listingEndsOnceTheMarkHasSettledAndBeginsAgainEachHour() async throws {
        let cloud = ListingCount()
        // Not before the mark has been the same for ten seconds, and a run has listed after that.
        let soon = Instant(microseconds: scene.clock.now().microseconds + 300_000_000)
        try scene.writer.run("UPDATE snapsync_state SET value = json_set(value, '$.since', '\(soon)') WHERE key = 'mailboxLook'")
        for _ in 0..<2 { #expect(try await sync(cloud).listings == 1) }
        scene.clock.move(bySeconds: 330)
        #expect(try await sync(cloud).listings == 1)
        for _ in 0..<5 { #expect(try await sync(cloud).listings == 0) }
        scene.clock.move(bySeconds: 3600)
        #expect(try await sync(cloud).listings == 1)
        #expect(try await sync(cloud).listings == 0)
        // Who has something to publish lists.
        try scene.writer.run("UPDATE buckets SET name = 'C'")
        let published = try await sync(cloud)
        #expect(published.published && published.listings == 1)
        #expect(try await sync(cloud).listings == 0)
        // A clock that was set back proves nothing.
        scene.clock.move(bySeconds: -600)
        #expect(try await sync(cloud).listings == 1)
    }

    @Test func messageIsFoundAtOnceByTheMark() async throws {
        let cloud = ListingCount()
        for _ in 0..<3 {
            scene.clock.move(bySeconds: 30)
            _ = try await sync(cloud)
        }
        #expect(try await sync(cloud).listings == 0)
        try scene.reader.run("UPDATE buckets SET name = 'R', updatedAt = '2027-01-01T00:00:00Z'")
        _ = try await scene.engine("reader.db").sync()
        let found = try await sync(cloud)
        #expect(found.published && found.listings == 1)
        #expect(try scene.writer.run("SELECT name FROM buckets") == "R\n")
    }

    @Test func messageIsFoundWithinTheHourWhereTheFoldersTimesSayNothing() async throws {
        let cloud = ListingCount()
        for _ in 0..<3 {
            scene.clock.move(bySeconds: 30)
            _ = try await sync(cloud)
        }
        try scene.reader.run("UPDATE buckets SET name = 'R', updatedAt = '2027-01-01T00:00:00Z'")
        _ = try await scene.engine("reader.db").sync()
        // As if the folders' times had not changed.
        let mark = try #require(try await directory.mailbox(in: scene.zone).mark)
        let text = try StrictJSON.text(mark)
        try scene.writer.run("UPDATE snapsync_state SET value = json_set(value, '$.mark', '\(text)') WHERE key = 'mailboxLook'")
        let blind = try await sync(cloud)
        #expect(!blind.published && blind.listings == 0)
        scene.clock.move(bySeconds: 3600)
        let found = try await sync(cloud)
        #expect(found.published && found.listings == 1)
        #expect(try scene.writer.run("SELECT name FROM buckets") == "R\n")
    }
}
