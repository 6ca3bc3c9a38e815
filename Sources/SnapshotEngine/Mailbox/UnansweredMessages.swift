package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The sent messages of this device that no commit has answered, compared with the files in the mailbox.
///
/// A tool that replicates the cloud directory may remove or truncate the file of such a message. The message is then sent again with the same id
/// and bytes, so that a publisher that has applied it already does not apply it again.
package struct UnansweredMessages: Sendable {
    let device: SyncContext
    /// The messages, oldest first. A message keeps the sender under which it was sent, even if the device was renamed since.
    let sent: [CloudMessage]

    /// The state of these messages in the mailbox.
    struct Look: Sendable {
        /// The messages whose files are missing or have other bytes, oldest first.
        var missing: [CloudMessage] = []
        /// The number of complete messages of this device in the mailbox, whatever their state.
        var waitingCount = 0
        /// The requested ids that are in this device's part of the mailbox.
        var found: Set<String> = []
    }

    package init(_ outbox: [OutboxEntry], of device: SyncContext) throws {
        self.device = device
        sent = try outbox.filter { $0.state == .sent }.compactMap { entry in
            guard let id = entry.id, let body = entry.body else { return nil }
            return CloudMessage(id: id, sender: try StrictJSON.decode(SyncUpdateMessage.self, from: body).sender ?? device.settings.device, body: body)
        }
    }

    /// Lists the mailbox once for each name under which this device has sent, and reads the unanswered messages.
    ///
    /// - Parameter known: the ids of messages that are only looked up by name and not read.
    func look(knowing known: Set<String> = []) async throws -> Look {
        var look = Look()
        var whole: Set<CloudMessage> = []
        for sender in Set(sent.map(\.sender)).union([device.settings.device]) {
            let mailbox = try await device.cloud.at(.announce).mailbox(MailboxRequest(sender: sender, known: known, limit: .max), in: device.zone)
            whole.formUnion(mailbox.messages)
            guard sender == device.settings.device else { continue }
            look.waitingCount = mailbox.waitingCount
            look.found = Set(mailbox.known.map(\.id))
        }
        look.missing = missing(from: whole)
        return look
    }

    /// Returns the messages that are not in the mailbox.
    package func missing(from mailbox: Set<CloudMessage>) -> [CloudMessage] { sent.filter { !mailbox.contains($0) } }

    /// Sends messages again whose files are missing or damaged.
    ///
    /// Nothing is sent if the zone has commits that this device has not read: one of them may answer the message. The next sync reads them first.
    ///
    /// - Returns: the number of messages sent again, and the first failure. One failure does not stop the other messages.
    func putBack(_ missing: [CloudMessage]) async throws -> (count: Int, failure: SyncError?) {
        guard !missing.isEmpty, try await hasReadAllCommits() else { return (0, nil) }
        var count = 0, failure: SyncError?
        for message in missing {
            do {
                try await device.place(message)
                count += 1
            } catch {
                failure = failure ?? SyncError(error, step: .announce)
            }
        }
        return (count, failure)
    }

    private func hasReadAllCommits() async throws -> Bool {
        guard let applied = try device.database.read(at: .read, { try $0.state.applied() }) else { return false }
        do {
            return try await device.cloud.changes(since: applied.token, in: device.zone).commits.isEmpty
        } catch let error as CloudError where [.changeTokenExpired, .rolledBack, .damaged, .pending].contains(error.code) {
            return false
        } catch {
            throw SyncError(error, step: .fetch)
        }
    }
}

extension SyncContext {
    /// Writes a message's file into the mailbox, and replaces a damaged one. This is safe because only the sender removes the file and knows all
    /// of its bytes.
    func place(_ message: CloudMessage) async throws {
        try await SyncError.at(.announce) {
            do {
                try await cloud.send(message, clock: now(), in: zone)
            } catch let error as CloudError where error.code == .serverRecordChanged || error.code == .damaged {
                try await cloud.removeMessage(CloudMessageName(sender: message.sender, id: message.id), in: zone)
                try await cloud.send(message, clock: now(), in: zone)
            }
        }
    }
}
