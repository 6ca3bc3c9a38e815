import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Puts a reader's messages into the mailbox, puts missing ones back, and removes answered ones.
///
/// Every step can be repeated. A message's id and bytes are stored in the database before its file is written, and an existing file with the same
/// bytes counts as written.
struct MessageSender: Sendable {
    let device: SyncContext

    /// Sends the stored messages, up to the limit of waiting messages.
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

    /// Sends messages that have no file yet, as many as may wait.
    private func send(_ stored: [OutboxEntry], _ look: UnansweredMessages.Look, limit: Int) async throws -> Int {
        // Messages that an interrupted run has already put there need no more room.
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
                // A refusal comes before the file is written, so neither this message nor the following ones are in the mailbox.
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

    /// Sends messages again, under new ids, whose answers may be in pruned commits. A message is sent again if its change is still tracked, or if
    /// it is a patch on which a later message builds.
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

    /// Renames unsent messages if the device was renamed because another database uses its name.
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
                overlays: try transaction.outbox.overlayCount(), unfit: try transaction.outbox.unfitCount())
        }
    }
}

/// What a reader sent to the publisher.
public struct SendReport: Sendable, Encodable {
    /// The number of messages that were put into the mailbox.
    public let sent: Int
    /// The number of unanswered messages that were missing from the mailbox or damaged, and were put there again.
    public let putBack: Int
    /// The number of messages that wait in the mailbox for an answer.
    public let waiting: Int
    /// The number of messages that wait in the database until the mailbox has room.
    public let held: Int
    /// The number of changes that stay on this device because no message carries them.
    public let overlays: Int
    /// The number of those changes whose rows cannot travel: a value does not fit its column's type, or the row is too large.
    public let unfit: Int
}

extension SyncUpdateMessage {
    /// This message under another id, and with the device's current name as the sender.
    func renamed(_ id: String, sender: String) -> SyncUpdateMessage {
        SyncUpdateMessage(
            type: type, key: key, timestamp: timestamp, id: id, sender: sender, dataset: dataset, entity: entity, readAt: readAt,
            basedOnReadAt: basedOnReadAt, replaces: replaces, version: version, columns: columns, basedOn: basedOn)
    }
}
