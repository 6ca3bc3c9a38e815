import CloudStore
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools

/// A writer and a reader of the built-in datasets, with a bucket `b` and some notifications on both sides.
struct MailScene {
    let scene: SyncScene
    private let rule: AssetRule
    private let undelivered = UndeliveredMessages()

    static let tables = """
        CREATE TABLE buckets(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, iconUrl TEXT,
            createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, isOrphan INTEGER);
        CREATE TABLE notifications(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT, readAt TEXT, sentAt TEXT,
            createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, bucketId TEXT NOT NULL REFERENCES buckets(id),
            attachments TEXT NOT NULL DEFAULT '[]', actions TEXT NOT NULL DEFAULT '[]', tapAction TEXT);
        """

    /// - Parameter hasChangeAssets: whether the writer publishes changes, as it does of large datasets, or the whole.
    init(_ keys: [String] = ["n1", "n2", "n3"], hasChangeAssets: Bool = false) async throws {
        var rule = AssetRule()
        if hasChangeAssets { (rule.smallByteCount, rule.changeShare, rule.changeFileCount) = (0, 1000, 5) }
        self.rule = rule
        scene = try await SyncScene(Self.tables, datasets: DatasetSchema.builtIn)
        try scene.writer.run("INSERT INTO buckets VALUES('b', 'B', NULL, NULL, NULL, '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', NULL)")
        for key in keys {
            try scene.writer.run(
                """
                INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('\(key)', 'first', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'b')
                """)
        }
        try await scene.export()
        try await scene.importNewest()
    }

    @discardableResult
    func syncReader(_ cloud: CloudDatabase? = nil) async throws -> SyncReport { try await engine("reader.db", cloud).sync() }
    @discardableResult
    func syncWriter(_ cloud: CloudDatabase? = nil) async throws -> SyncReport {
        try await engine("writer.db", (cloud ?? scene.cloud).adding(Undelivered(messages: undelivered))).sync()
    }

    private func engine(_ name: String, _ cloud: CloudDatabase?) throws -> SyncEngine {
        let cloud = cloud ?? scene.cloud
        return try SyncEngine(database: scene.scratch.path(name), now: scene.clock.now, assetRule: rule) { _ in cloud }
    }

    /// Tells, applies, answers.
    func round() async throws {
        try await syncReader()
        try await syncWriter()
        try await syncReader()
    }

    func faulty(_ fault: FaultyCloudDatabase.Fault) -> FaultyCloudDatabase { FaultyCloudDatabase(wrapping: scene.cloud, fault) }

    /// What a cell holds, NULL as `-`.
    func value(_ database: SQLiteShell, _ column: String, of key: String) throws -> String {
        try database.run("SELECT ifnull(\(column), '-') FROM notifications WHERE id = '\(key)'").replacing("\n", with: "")
    }

    /// The ids that the zone's commits name, each as often as it is named.
    func named() async throws -> [String] {
        try await scene.cloud.history(in: scene.zone).flatMap { $0.messages.applied + $0.messages.refused }
    }

    func waiting() async throws -> [CloudMessage] { try await scene.cloud.mailbox(MailboxRequest(), in: scene.zone).messages }

    /// Keeps the message that waits and was sent last from the writer, as a sync tool may that delivers it later. At the reader it is still there.
    @discardableResult
    func takeLastMessage() async throws -> CloudMessage {
        let message = try #require(try await waiting().max { $0.id < $1.id })
        undelivered.ids.withLock { _ = $0.insert(message.id) }
        return message
    }

    /// Brings the writer a message that was kept from it, also if the reader has removed it since.
    func deliver(_ message: CloudMessage) async throws {
        undelivered.ids.withLock { _ = $0.remove(message.id) }
        try await scene.cloud.send(message, clock: scene.clock.now(), in: scene.zone)
    }

    /// Tells of bucket `b` as another device.
    ///
    /// - Parameter bucket: the bucket's JSON.
    func tell(_ type: SyncUpdateMessage.UpdateType, _ bucket: String, by sender: String, at timestamp: String) async throws {
        let id = CloudMessage.newID(at: try Instant(parsing: timestamp))
        let message = SyncUpdateMessage(type: type, entityId: "b", timestamp: timestamp, id: id, sender: sender, dataset: "buckets", entity: bucket)
        try await scene.cloud.send(CloudMessage(id: id, sender: sender, body: try StrictJSON.encode(message)), clock: scene.clock.now(), in: scene.zone)
    }

    /// What is wrong with the two tables' being the applied version and the tracked changes.
    func problems() async throws -> [String] {
        try await scene.engine("reader.db").inspector().verify(local: true).problems + scene.engine("writer.db").inspector().verify(local: true).problems
    }
}

/// The ids of messages that a sync tool has not delivered yet.
private final class UndeliveredMessages: Sendable {
    let ids = Mutex<Set<String>>([])
}

/// A sync tool that has not delivered some messages to a device.
private struct Undelivered: CloudLayer {
    let messages: UndeliveredMessages

    func opened(_ mailbox: CloudMailbox, in zone: ZoneID) async throws -> CloudMailbox {
        var mailbox = mailbox
        let hidden = messages.ids.withLock { $0 }
        mailbox.messages.removeAll { hidden.contains($0.id) }
        return mailbox
    }
}
