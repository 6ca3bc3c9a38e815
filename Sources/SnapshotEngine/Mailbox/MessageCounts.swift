import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// The numbers of pending messages, and of changes that no message carries.
public struct MessageCounts: Sendable, Encodable {
    /// Messages of this device that are not in the mailbox yet.
    public internal(set) var unsent = 0
    /// Messages of this device that no commit has answered.
    public internal(set) var unanswered = 0
    /// The messages of ``unanswered`` whose files are missing or changed in the mailbox; the next sync sends them again.
    public internal(set) var missing = 0
    /// Messages of this device that the publisher refused. Their changes stay on this device.
    public internal(set) var refused = 0
    /// Local changes that stay on this device because no message carries them whole, or because their message was refused.
    public internal(set) var overlays = 0
    /// The changes of ``overlays`` whose rows cannot travel: a value does not fit its column's type, or the row is too large.
    public internal(set) var unfit = 0
    /// Messages in the mailbox that this publisher has not applied yet; 0 at a reader.
    public internal(set) var waiting = 0

    package init() {}

    package init(_ device: SyncContext) async throws {
        let (heard, sent) = try device.database.read(at: .read) { transaction in
            let entries = try transaction.outbox.entries(onlyMessages: true)
            unsent = entries.count { $0.state == .stored }
            unanswered = entries.count { $0.state == .sent || $0.state == .doubtful }
            refused = entries.count { $0.state == .refused }
            overlays = try transaction.outbox.overlayCount()
            unfit = try transaction.outbox.unfitCount()
            return (Set(try transaction.inbox.entries().map(\.id)), try UnansweredMessages(entries, of: device))
        }
        guard device.settings.role.publishes else {
            if !sent.sent.isEmpty { missing = try await sent.look().missing.count }
            return
        }
        waiting = try await device.cloud.at(.fetch).mailbox(MailboxRequest(known: heard, limit: 0), in: device.zone).unreadCount
    }
}
