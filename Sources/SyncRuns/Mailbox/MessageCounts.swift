import CloudStore
import LocalStore
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// The numbers of edits that wait, and of changes that stay on a reader.
public struct MessageCounts: Sendable, Encodable {
    /// Edits that this device has handed over and no version has decided.
    public internal(set) var unanswered = 0
    /// 1 if the message with them is missing from the mailbox or damaged; the next sync puts it back.
    public internal(set) var missing = 0
    /// Local changes of tables that readers may edit that stay on this device, wholly or in part, because no message can carry them.
    public internal(set) var overlays = 0
    /// Edits in the mailbox that this publisher has not decided yet; 0 at a reader.
    public internal(set) var waiting = 0

    package init() {}

    package init(_ context: SyncContext) async throws {
        let (edits, file) = try context.database.read { transaction in
            let sent = context.settings.role == .reader ? context.settings.datasets.filter { !$0.messages.isEmpty } : []
            overlays = try sent.reduce(0) { $0 + (try transaction.sentEdits.kept(of: $1).count) }
            return (try transaction.sentEdits.all(), try transaction.sentEdits.file())
        }
        unanswered = edits.count
        guard context.settings.role.publishes else {
            if let file, !edits.isEmpty { missing = try await context.isInMailbox(file) ? 0 : 1 }
            return
        }
        waiting = try await context.undecidedEdits().reduce(0) { $0 + $1.edits.count }
    }
}

extension SyncContext {
    /// The messages in the mailbox with the edits that are not decided yet; those without any are left out.
    package func undecidedEdits() async throws -> [ReceivedMessage] {
        let mailbox = try await cloud.mailbox(in: zone)
        guard !mailbox.messages.isEmpty else { return [] }
        return try database.read { transaction in
            let removed = try transaction.state.removedColumns(of: settings.datasets)
            return try mailbox.messages.compactMap { found in
                let known = try transaction.decidedEdits.number(of: found.sender)
                guard let message = try? ReceivedMessage(found, datasets: settings.datasets, removed: removed, decided: known) else { return nil }
                return message.edits.contains { $0.number > known } ? message.dropping(upTo: known) : nil
            }
        }
    }

    /// Whether the message that this device has sent is in the mailbox as it was sent.
    func isInMailbox(_ file: SentEdits.File) async throws -> Bool {
        let mailbox = try await cloud.mailbox(of: file.device, in: zone)
        return mailbox.messages.contains { found in
            found.id == file.id && (try? ReceivedMessage(found, datasets: nil))?.edits.map(\.number) == file.numbers
        }
    }
}
