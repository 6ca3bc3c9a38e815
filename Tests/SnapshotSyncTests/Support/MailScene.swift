import CloudStore
import SnapshotModel
import StrictText
@testable import SyncRuns
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
        return try SyncEngine(database: scene.scratch.path(name), options: EngineOptions(now: scene.clock.now, assetRule: rule) { _ in cloud })
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

    /// The number up to which the newest commit decides the reader's edits; 0 if it decides none.
    func decided() async throws -> Int64 { try await scene.cloud.history(in: scene.zone).last?.answered["phone".exact] ?? 0 }

    /// How many edits of the reader no version has decided.
    func openCount() throws -> Int {
        guard try scene.reader.run("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_sent'") == "1\n" else { return 0 }
        return Int(try scene.reader.run("SELECT count(*) FROM snapsync_sent").replacing("\n", with: "")) ?? -1
    }

    /// The edits in the messages that wait.
    func waitingEdits() async throws -> [HandedOverEdit] { try await waiting().flatMap { try StrictJSON.decode(EditMessage.self, from: $0.body).edits } }

    func waiting() async throws -> [CloudMessage] { try await scene.cloud.mailbox(in: scene.zone).messages }

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

    /// Hands over an edit of bucket `b` as another device.
    ///
    /// - Parameter bucket: the bucket's JSON.
    func handOver(_ bucket: String, by device: String, at timestamp: String, number: Int64 = 1) async throws {
        let at = try Instant(parsing: timestamp), id = CloudMessage.newID(at: at)
        var edit = HandedOverEdit(number: number, dataset: "buckets", key: EntityKey("b"))
        (edit.at, edit.born, edit.row, edit.base) = (at, try Instant(parsing: "2020-01-01T00:00:00Z"), bucket, .init(at: .earliest, columns: []))
        let message = EditMessage(id: id, device: device, edits: [edit])
        try await scene.cloud.send(CloudMessage(id: id, sender: device, body: try StrictJSON.encode(message)), clock: scene.clock.now(), in: scene.zone)
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
