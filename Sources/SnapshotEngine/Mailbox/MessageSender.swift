import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Puts a reader's messages into the mailbox, puts those back that vanished from it, and takes the answered ones out.
///
/// Every step can be repeated: a message's id and bytes are written down before its file is, and a file that is there already with
/// the same bytes is as good as one just written.
struct MessageSender: Sendable {
    let device: SyncContext

    /// Sends what is written down, as far as the limit of waiting messages allows.
    func run() async throws -> SendReport {
        try await removeAnswered()
        try await renewDoubtful()
        try renewThoseOfAnotherName()
        let (outbox, limit) = try device.database.read(at: .read) {
            (try $0.outbox.entries(onlyMessages: true), try $0.state.messageLimit() ?? CloudMessage.waitingLimit)
        }
        let stored = outbox.filter { $0.state == .stored }
        let unanswered = try SyncError.at(.read) { try UnansweredMessages(outbox, of: device) }
        guard !stored.isEmpty || !unanswered.sent.isEmpty else { return try report(sent: 0) }
        let look = try await unanswered.look(knowing: Set(stored.compactMap(\.id)))
        let putBack = try await unanswered.putBack(look.missing)
        let sent = stored.isEmpty ? 0 : try await send(stored, look, limit: limit)
        if let failure = putBack.failure { throw failure }
        return try report(sent: sent, putBack: putBack.count)
    }

    /// Sends messages that no file was written for yet, as many as may wait.
    private func send(_ stored: [OutboxEntry], _ look: UnansweredMessages.Look, limit: Int) async throws -> Int {
        // What a run that was ended has put there already takes no further room.
        var room = max(0, limit - look.waitingCount - look.missing.count { $0.sender == device.settings.device })
        let sending = stored.filter { entry in
            if entry.id.map(look.found.contains) == true { return true }
            room -= 1
            return room >= 0
        }
        try device.database.write(at: .announce) { try $0.outbox.recordSending(sending.map(\.number)) }
        for (position, entry) in sending.enumerated() {
            guard let id = entry.id, let body = entry.body else { continue }
            do {
                try await device.place(CloudMessage(id: id, sender: device.settings.device, body: body))
            } catch let error as SyncError where error.code == .refused {
                // A refusal comes before the file is written. The mailbox has neither this message nor the next ones.
                try device.database.write(at: .announce) { try $0.outbox.recordUnsent(sending[position...].filter { !$0.mayBeOut }.map(\.number)) }
                throw error
            }
        }
        try device.database.write(at: .announce) { try $0.outbox.recordSent(sending.map(\.number)) }
        return sending.count
    }

    private func removeAnswered() async throws {
        let answered = try device.database.read(at: .read) { try $0.outbox.removable() }
        for message in answered { try await remove(message.id) }
        guard try !answered.isEmpty || device.database.read(at: .read, { try $0.outbox.hasForgettable() }) else { return }
        try device.database.write(at: .announce) { try $0.outbox.recordRemoved(answered.map(\.number)) }
    }

    /// What may have been answered in commits that are pruned is told again, as another message, if its change is tracked still or is a patch
    /// that a later one builds on.
    private func renewDoubtful() async throws {
        let entries = try device.database.read(at: .read) { try $0.outbox.entries(onlyMessages: true).filter { $0.state == .doubtful } }
        for entry in entries {
            guard let old = entry.id else { continue }
            try await remove(old)
            try device.database.write(at: .announce) { transaction in
                guard let message = try entry.body.map({ try StrictJSON.decode(SyncUpdateMessage.self, from: $0) }),
                    try transaction.outbox.isCurrent(entry) || message.type.operation == .patch && transaction.outbox.isBuiltOn(entry)
                else { return try transaction.outbox.renew(entry.number, nil) }
                let id = CloudMessage.newID(at: (try? Instant(parsing: message.timestamp)) ?? device.now(), nonces: device.nonces)
                try transaction.outbox.renew(entry.number, (id, try StrictJSON.encode(message.renamed(id, sender: device.settings.device))))
            }
        }
    }

    /// A database that was found to be a copy has another name from then on; what was written down before is told under that one.
    private func renewThoseOfAnotherName() throws {
        let renewed = try SyncError.at(.read) {
            try device.database.read { try $0.outbox.entries(onlyMessages: true) }.filter { $0.state == .stored }.compactMap {
                entry -> (number: Int64, id: String, body: Data)? in
                guard let message = try entry.body.map({ try StrictJSON.decode(SyncUpdateMessage.self, from: $0) }), message.sender != device.settings.device
                else { return nil }
                let id = CloudMessage.newID(at: (try? Instant(parsing: message.timestamp)) ?? device.now(), nonces: device.nonces)
                return (entry.number, id, try StrictJSON.encode(message.renamed(id, sender: device.settings.device)))
            }
        }
        if renewed.isEmpty { return }
        try device.database.write(at: .announce) { transaction in for one in renewed { try transaction.outbox.renew(one.number, (one.id, one.body)) } }
    }

    private func remove(_ id: String) async throws {
        try await device.cloud.at(.announce).removeMessage(CloudMessageName(sender: device.settings.device, id: id), in: device.zone)
    }

    private func report(sent: Int, putBack: Int = 0) throws -> SendReport {
        try device.database.read(at: .read) { transaction in
            let entries = try transaction.outbox.entries(onlyMessages: true)
            return SendReport(
                sent: sent, putBack: putBack, waiting: entries.count { $0.state == .sent }, held: entries.count { $0.state == .stored },
                overlays: try transaction.outbox.overlayCount())
        }
    }
}

/// What a reader told the publisher.
public struct SendReport: Sendable, Encodable {
    /// How many messages were put into the mailbox.
    public let sent: Int
    /// How many messages that no commit has answered were missing from the mailbox, or damaged there, and were put there again.
    public let putBack: Int
    /// How many wait there for an answer.
    public let waiting: Int
    /// How many more are kept here until there is room in the mailbox.
    public let held: Int
    /// How many changes stay here, for no message carries them.
    public let overlays: Int
}

extension SyncUpdateMessage {
    /// The same message under another id, by a device that may have another name by now.
    func renamed(_ id: String, sender: String) -> SyncUpdateMessage {
        SyncUpdateMessage(
            type: type, key: key, timestamp: timestamp, id: id, sender: sender, dataset: dataset, entity: entity, readAt: readAt,
            basedOnReadAt: basedOnReadAt, replaces: replaces, version: version, columns: columns, basedOn: basedOn)
    }
}
