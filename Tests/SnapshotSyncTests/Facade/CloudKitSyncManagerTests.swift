import Foundation
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

private typealias Notification = SnapshotModel.Notification

/// The facade: calls in order, completions, errors, and what the design's own snippets need to compile.
@Suite struct CloudKitSyncManagerTests {
    /// A phone with data and a watch, each with a manager of its own.
    private struct World {
        let scratch: ScratchDirectory
        let phone: CloudKitSyncManager
        let watch: CloudKitSyncManager

        init() async throws {
            scratch = try ScratchDirectory()
            _ = try await SampleFiller.fill(database: scratch.path("phone.db"), notifications: 20, buckets: 3, seed: 4)
            phone = CloudKitSyncManager(Self.configuration(scratch, "phone", .writer))
            watch = CloudKitSyncManager(Self.configuration(scratch, "watch", .reader))
        }

        static func configuration(_ scratch: ScratchDirectory, _ name: String, _ role: SyncRole) -> CloudKitSyncManager.Configuration {
            let path = scratch.path("\(name).db")
            return .init(
                database: path,
                setup: SetupRequest(database: path, cloud: scratch.path("cloud"), role: role, device: name, createsTables: true, enables: true))
        }

        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path) }
    }

    /// Awaits a completion handler's values.
    private func value<T: Sendable>(_ body: (@escaping @Sendable (T) -> Void) -> Void) async -> T {
        await withCheckedContinuation { continuation in body { continuation.resume(returning: $0) } }
    }

    @Test func uploadAndDownloadCarryEverything() async throws {
        let world = try await World()
        let sent: [Int] = await value { done in
            world.phone.syncAllToCloudKit { success, buckets, notifications in done(success ? [buckets, notifications] : []) }
        }
        #expect(sent == [3, 20] && world.phone.lastError == nil)
        let (buckets, notifications): ([Bucket], [Notification]) = await value { done in world.watch.fetchAllFromCloudKit { done(($0, $1)) } }
        #expect(world.watch.lastError == nil)
        #expect(buckets.map { "\($0.id)|\($0.name)\n" }.joined() == (try world.shell("phone").run("SELECT id, name FROM buckets ORDER BY id")))
        // The same as SQLite's own JSON functions make of the rows.
        let rows = try world.shell("phone").run(
            """
            SELECT json_group_array(json_object('id', id, 'title', title, 'subtitle', subtitle, 'body', body, 'readAt', readAt, 'sentAt', sentAt,
                'createdAt', createdAt, 'updatedAt', updatedAt, 'bucketId', bucketId, 'attachments', json(attachments),
                'actions', json(actions), 'tapAction', json(tapAction))) FROM (SELECT * FROM notifications ORDER BY id)
            """)
        #expect(try JSONDecoder().decode([Notification].self, from: Data(rows.utf8)) == notifications && notifications.count == 20)
        let one: [Bucket] = await value { done in world.watch.fetchBucketsFromCloudKit { done($0) } }
        let other: [Notification] = await value { done in world.watch.fetchNotificationsFromCloudKit { done($0) } }
        #expect(one == buckets && other == notifications)
    }

    @Test func asyncCallsDoTheSame() async throws {
        let world = try await World()
        #expect(try await world.phone.syncBuckets() == 3)
        #expect(try await world.phone.syncNotifications() == 20)
        #expect(try await world.phone.syncAll() == (3, 20))
        // Buckets and notifications are one version; nothing was new at the later calls.
        #expect(try await world.phone.engine().status().version == 1)
        #expect(try await world.watch.fetchBuckets().count == 3)
        let all = try await world.watch.fetchAll()
        #expect(all.buckets.count == 3 && all.notifications.count == 20)
    }

    @Test func readerThatUploadsIsRefusedAsReadOnly() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        try await world.watch.fetchAll()
        let cloud = try FileListing(of: world.scratch.path("cloud"))
        let results: [Bool] = [
            await value { done in world.watch.syncBucketsToCloudKit { success, count in done(success || count != 0) } },
            await value { done in world.watch.syncNotificationsToCloudKit { success, count in done(success || count != 0) } },
            await value { done in world.watch.syncAllToCloudKit { success, buckets, notifications in done(success || buckets + notifications != 0) } },
        ]
        #expect(results == [false, false, false])
        #expect(world.watch.lastError?.reason.contains("read-only") == true && world.watch.lastError?.code == .refused)
        await #expect { try await world.watch.syncAll() } throws: { "\($0)".contains("read-only") }
        #expect(try FileListing(of: world.scratch.path("cloud")) == cloud)
    }

    @Test func manyCallsAtOnceAreDoneOneAfterAnother() async throws {
        let world = try await World()
        let order = Mutex<[Int]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            for number in 0..<12 {
                let done: @Sendable (Bool) -> Void = { success in
                    let count = order.withLock { order in
                        order.append(success ? number : -1)
                        return order.count
                    }
                    if count == 12 { continuation.resume() }
                }
                if number % 2 == 0 {
                    world.phone.syncBucketsToCloudKit { success, _ in done(success) }
                } else {
                    world.phone.syncAllToCloudKit { success, _, _ in done(success) }
                }
            }
        }
        #expect(order.withLock { $0 } == Array(0..<12))
    }

    @Test func forcedRefreshHealsRowsThatWereHarmed() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        try await world.watch.fetchAll()
        let before = try world.shell("watch").values(of: "notifications", orderedBy: "id")
        try world.shell("watch").run(SQLiteShell.untracked("UPDATE notifications SET title = 'harmed'"))
        // A plain fetch has the version already.
        #expect(try await world.watch.fetchNotifications().allSatisfy { $0.title == "harmed" })
        let success: Bool = await value { done in world.watch.forceRefreshFromCloudKit { done($0) } }
        #expect(success && world.watch.lastError == nil)
        #expect(try world.shell("watch").values(of: "notifications", orderedBy: "id") == before)
    }

    @Test func fetchWithoutACloudGivesWhatIsHereAndSaysWhy() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        try await world.watch.fetchAll()
        try FileManager.default.moveItem(atPath: world.scratch.path("cloud"), toPath: world.scratch.path("away"))
        let buckets: [Bucket] = await value { done in world.watch.fetchBucketsFromCloudKit { done($0) } }
        #expect(buckets.count == 3 && world.watch.lastError?.code == .cloudUnavailable)
        await #expect { try await world.watch.fetchBuckets() } throws: { ($0 as? SyncError)?.code == .cloudUnavailable }
        try FileManager.default.moveItem(atPath: world.scratch.path("away"), toPath: world.scratch.path("cloud"))
        #expect(try await world.watch.fetchBuckets().count == 3 && world.watch.lastError == nil)
    }

    @Test func subscriptionsImportWhatArrives() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        let (imports, continuation) = AsyncStream.makeStream(of: Int.self)
        try await world.watch.startSubscriptions(every: .milliseconds(20)) { continuation.yield($0.version ?? 0) }
        var versions = imports.makeAsyncIterator()
        #expect(await versions.next() == 1)
        try world.shell("phone").run("DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)")
        try await world.phone.syncNotifications()
        #expect(await versions.next() == 2)
        #expect(try world.shell("watch").run("SELECT count(*) FROM notifications") == "19\n")
        // Turned off, nothing is looked at; on again, what came meanwhile arrives.
        try await world.watch.engine().gate.setPreference(false)
        try world.shell("phone").run("DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)")
        try await world.phone.syncNotifications()
        try await world.watch.engine().gate.setPreference(true)
        #expect(await versions.next() == 3)
        world.watch.stopSubscriptions()
        let again: Bool = await value { done in world.watch.setupSubscriptions { done($0) } }
        #expect(again)
        world.watch.stopSubscriptions()
    }

    /// A reader's edit goes out with its fetch, is applied by the writer's, and the answer comes with the reader's next one.
    @Test func fetchesCarryMessages() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        try await world.watch.fetchAll()
        let id = try world.shell("watch").run("SELECT min(id) FROM notifications WHERE readAt IS NULL").trimmingCharacters(in: .newlines)
        try world.shell("watch").run("UPDATE notifications SET readAt = '2026-11-01T08:00:00Z' WHERE id = '\(id)'")
        let shown: [Notification] = await value { done in world.watch.fetchNotificationsFromCloudKit { done($0) } }
        #expect(world.watch.lastError == nil && shown.first { $0.id == id }?.readAt == "2026-11-01T08:00:00Z")
        let fetched: [Notification] = await value { done in world.phone.fetchAllFromCloudKit { done($1) } }
        #expect(world.phone.lastError == nil && fetched.first { $0.id == id }?.readAt == "2026-11-01T08:00:00Z")
        #expect(try await world.phone.engine().status().version == 2)
        try await world.watch.fetchAll()
        // Answered: nothing waits any more.
        #expect(try await world.watch.engine().inspector().messages().waiting.isEmpty)
    }

    /// Far between two looks, a subscription is woken by the directory's events: by a commit at the reader, by a message at the writer.
    @Test func subscriptionsWakeOnEvents() async throws {
        let world = try await World()
        try await world.phone.syncAll()
        try await world.watch.fetchAll()
        let (imports, continuation) = AsyncStream.makeStream(of: Int.self)
        try await world.watch.startSubscriptions(every: .seconds(86_400)) { continuation.yield($0.version ?? 0) }
        try await world.phone.startSubscriptions(every: .seconds(86_400))
        var versions = imports.makeAsyncIterator()
        try world.shell("phone").run("DELETE FROM notifications WHERE id = (SELECT min(id) FROM notifications)")
        try await world.phone.syncAll()
        #expect(await versions.next() == 2)
        // The watch says that something was read; the phone hears of the message, applies it and publishes the answer.
        try world.shell("watch").run("UPDATE notifications SET readAt = '2026-11-01T08:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try await world.watch.fetchAll()
        #expect(await versions.next() == 3)
        #expect(try world.shell("phone").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-01T08:00:00Z'") == "1\n")
        world.phone.stopSubscriptions()
        world.watch.stopSubscriptions()
    }

    @Test func managerIsConfiguredOnceAndSaysWhenItIsNot() async throws {
        let world = try await World()
        let manager = CloudKitSyncManager()
        let success: Bool = await value { done in manager.forceRefreshFromCloudKit { done($0) } }
        #expect(!success && manager.lastError?.hint?.contains("configure") == true)
        try manager.configure(World.configuration(world.scratch, "phone", .writer))
        #expect { try manager.configure(World.configuration(world.scratch, "watch", .reader)) } throws: { ($0 as? SyncError)?.code == .refused }
        #expect(try await manager.syncBuckets() == 3)
    }

    /// Code as the design writes it. A protocol's method, for a test that calls what is deprecated would warn itself.
    private protocol OldCode {
        func run(_ note: @escaping @Sendable (String) -> Void)
    }

    private struct Snippets: OldCode {
        @available(*, deprecated)
        func run(_ note: @escaping @Sendable (String) -> Void) {
            CloudKitSyncManager.shared.syncBucketsToCloudKit { success, count in
                note("Synced \(count) buckets: \(success)")
            }
            CloudKitSyncManager.shared.syncNotificationsToCloudKit { success, count in
                note("Synced \(count) notifications: \(success)")
            }
            CloudKitSyncManager.shared.syncAllToCloudKit { success, bucketsCount, notificationsCount in
                note("Synced \(bucketsCount) buckets, \(notificationsCount) notifications")
            }
            CloudKitSyncManager.shared.fetchBucketsFromCloudKit { buckets in
                note("Downloaded \(buckets.count) buckets")
            }
            CloudKitSyncManager.shared.fetchNotificationsFromCloudKit { notifications in
                note("Downloaded \(notifications.count) notifications")
            }
            CloudKitSyncManager.shared.fetchAllFromCloudKit { buckets, notifications in
                note("Downloaded \(buckets.count) buckets, \(notifications.count) notifications")
            }
            CloudKitSyncManager.shared.forceRefreshFromCloudKit { success in
                note("Refresh completed: \(success)")
            }
            CloudKitSyncManager.shared.setupSubscriptions { success in
                note("Subscriptions setup: \(success)")
            }
            CloudKitSyncManager.shared.deleteNotificationFromCloudKit(id: "...") { success in note("deleted: \(success)") }
            CloudKitSyncManager.shared.deleteBucketFromCloudKit(id: "...") { success in note("deleted: \(success)") }
        }
    }

    @Test func snippetsOfTheDesignCompileAndRun() async throws {
        let world = try await World()
        try CloudKitSyncManager.configure(
            database: world.scratch.path("phone.db"), cloud: world.scratch.path("cloud"), role: .writer, device: "phone", enables: true)
        let notes = Mutex<[String]>([])
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let code: any OldCode = Snippets()
            code.run { note in
                let count = notes.withLock { notes in
                    notes.append(note)
                    return notes.count
                }
                if count == 10 { continuation.resume() }
            }
        }
        CloudKitSyncManager.shared.stopSubscriptions()
        #expect(
            notes.withLock { $0 } == [
                "Synced 3 buckets: true", "Synced 20 notifications: true", "Synced 3 buckets, 20 notifications", "Downloaded 3 buckets",
                "Downloaded 20 notifications", "Downloaded 3 buckets, 20 notifications", "Refresh completed: true", "Subscriptions setup: true",
                "deleted: false", "deleted: false",
            ])
        #expect(CloudKitSyncManager.shared.lastError?.hint?.contains("syncBucketsToCloudKit()") == true)
    }
}
