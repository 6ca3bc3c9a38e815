package import CloudStore
package import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// The messages that this device has sent and that no commit has answered, compared with the files in the mailbox.
///
/// A tool that carries the cloud directory may remove the file of such a message or cut it. The message is then sent again: the same id and the
/// same bytes, so a publisher that has applied it already does not apply it again.
package struct UnansweredMessages: Sendable {
    let device: SyncContext
    /// What the files hold, oldest first. A message keeps the sender under which it was sent, also where the device has another name by now.
    let sent: [CloudMessage]

    /// What the mailbox holds of them.
    struct Look: Sendable {
        /// The messages whose files are not there, or are there with other bytes; oldest first.
        var missing: [CloudMessage] = []
        /// How many whole messages of this device wait in the mailbox, whatever their state.
        var waitingCount = 0
        /// Which of the ids that were asked for are in this device's part of the mailbox.
        var found: Set<String> = []
    }

    package init(_ outbox: [OutboxEntry], of device: SyncContext) throws {
        self.device = device
        sent = try outbox.filter { $0.state == .sent }.compactMap { entry in
            guard let id = entry.id, let body = entry.body else { return nil }
            return CloudMessage(id: id, sender: try StrictJSON.decode(SyncUpdateMessage.self, from: body).sender ?? device.settings.device, body: body)
        }
    }

    /// Lists the mailbox once for each name that this device has sent under, and reads the unanswered messages.
    ///
    /// - Parameter known: the ids of messages that need not be read, of which only the names are looked for.
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

    /// The messages that are not among those in the mailbox.
    package func missing(from mailbox: Set<CloudMessage>) -> [CloudMessage] { sent.filter { !mailbox.contains($0) } }

    /// Sends messages again whose files are missing or damaged.
    ///
    /// Nothing is sent where the zone has commits that this device has not read, for one of them may answer the message; the next sync reads them
    /// first.
    ///
    /// - Returns: how many were sent again, and the first failure; one message that cannot be sent does not keep the others back.
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
    /// Puts a message's file into the mailbox, and in the place of a damaged one: its author alone removes it, and knows all of its bytes.
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
