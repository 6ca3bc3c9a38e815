import CloudStore
import LocalStore
import SnapshotModel
import SnapshotVersions

/// How many messages are under way, and how many changes none of them carries.
public struct MessageCounts: Sendable, Encodable {
    /// Messages of this device that are not in the mailbox yet.
    public internal(set) var unsent = 0
    /// Messages of this device that no commit has answered.
    public internal(set) var unanswered = 0
    /// Those of ``unanswered`` whose files are not in the mailbox as they were sent; the next sync puts them back.
    public internal(set) var missing = 0
    /// Messages of this device that the publisher refused and whose changes stay here.
    public internal(set) var refused = 0
    /// Changes made here that stay here, for no message carries them whole, or it was refused.
    public internal(set) var overlays = 0
    /// Messages in the mailbox that this device, a publisher, has not applied yet; 0 at a reader.
    public internal(set) var waiting = 0

    package init() {}

    package init(_ device: SyncContext) async throws {
        let (heard, sent) = try device.database.read(at: .read) { transaction in
            let entries = try transaction.outbox.entries(onlyMessages: true)
            unsent = entries.count { $0.state == .stored }
            unanswered = entries.count { $0.state == .sent || $0.state == .doubtful }
            refused = entries.count { $0.state == .refused }
            overlays = try transaction.outbox.overlayCount()
            return (Set(try transaction.inbox.entries().map(\.id)), try UnansweredMessages(entries, of: device))
        }
        guard device.settings.role.publishes else {
            if !sent.sent.isEmpty { missing = try await sent.look().missing.count }
            return
        }
        waiting = try await device.cloud.at(.fetch).mailbox(MailboxRequest(known: heard, limit: 0), in: device.zone).unreadCount
    }
}
