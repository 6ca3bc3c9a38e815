import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import StrictText

/// Puts a reader's messages into the mailbox, and takes the answered ones out.
///
/// Every step can be repeated: a message's id and bytes are written down before its file is, and a file that is there already with
/// the same bytes is as good as one just written.
struct MessageSender: Sendable {
    let device: Device

    /// Sends what is written down, as far as the limit of waiting messages allows.
    func run() async throws -> SendReport {
        try await removeAnswered()
        try await renewDoubtful()
        try renewThoseOfAnotherName()
        let (stored, limit) = try SyncError.at(.read) {
            try device.database.read { transaction in
                (try transaction.outbox(onlyMessages: true).filter { $0.state == .stored }, try transaction.messageLimit() ?? CloudMessage.waitingLimit)
            }
        }
        guard !stored.isEmpty else { return try report(sent: 0) }
        let mailbox = try await SyncError.at(.announce) {
            try await device.cloud.mailbox(MailboxRequest(sender: device.settings.device, known: Set(stored.compactMap(\.id)), limit: 0), in: device.zone)
        }
        // What a run that was ended has put there already takes no further room.
        let isThere = Set(mailbox.known.map(\.id))
        var room = max(0, limit - mailbox.waitingCount)
        let sending = stored.filter { entry in
            if entry.id.map(isThere.contains) == true { return true }
            room -= 1
            return room >= 0
        }
        try SyncError.at(.announce) { try device.database.write { try $0.noteSending(sending.map(\.number)) } }
        for entry in sending {
            guard let id = entry.id, let body = entry.body else { continue }
            try await SyncError.at(.announce) {
                try await device.cloud.send(CloudMessage(id: id, sender: device.settings.device, body: body), clock: device.now(), in: device.zone)
            }
        }
        try SyncError.at(.announce) { try device.database.write { try $0.noteSent(sending.map(\.number)) } }
        return try report(sent: sending.count)
    }

    private func removeAnswered() async throws {
        let answered = try SyncError.at(.read) { try device.database.read { try $0.messagesToRemove() } }
        for message in answered { try await remove(message.id) }
        guard try !answered.isEmpty || SyncError.at(.read, { try device.database.read { try $0.hasForgettable() } }) else { return }
        try SyncError.at(.announce) { try device.database.write { try $0.noteRemoved(answered.map(\.number)) } }
    }

    /// What may have been answered in commits that are pruned is told again, as another message, if its change is tracked still or is a mark
    /// that a later one builds on.
    private func renewDoubtful() async throws {
        let entries = try SyncError.at(.read) { try device.database.read { try $0.outbox(onlyMessages: true).filter { $0.state == .doubtful } } }
        for entry in entries {
            guard let old = entry.id else { continue }
            try await remove(old)
            try SyncError.at(.announce) {
                try device.database.write { transaction in
                    guard let message = try entry.body.map({ try StrictJSON.decode(SyncUpdateMessage.self, from: $0) }),
                        try transaction.isCurrent(entry) || message.type == .notificationRead && transaction.isBuiltOn(entry)
                    else { return try transaction.renewMessage(entry.number, nil) }
                    let id = CloudMessage.newID(at: (try? Instant(parsing: message.timestamp)) ?? device.now(), nonces: device.nonces)
                    try transaction.renewMessage(entry.number, (id, try StrictJSON.encode(message.renamed(id, sender: device.settings.device))))
                }
            }
        }
    }

    /// A database that was found to be a copy has another name from then on; what was written down before is told under that one.
    private func renewThoseOfAnotherName() throws {
        let renewed = try SyncError.at(.read) {
            try device.database.read { try $0.outbox(onlyMessages: true) }.filter { $0.state == .stored }.compactMap { entry -> (number: Int64, id: String, body: Data)? in
                guard let message = try entry.body.map({ try StrictJSON.decode(SyncUpdateMessage.self, from: $0) }), message.sender != device.settings.device else { return nil }
                let id = CloudMessage.newID(at: (try? Instant(parsing: message.timestamp)) ?? device.now(), nonces: device.nonces)
                return (entry.number, id, try StrictJSON.encode(message.renamed(id, sender: device.settings.device)))
            }
        }
        if renewed.isEmpty { return }
        try SyncError.at(.announce) { try device.database.write { transaction in for one in renewed { try transaction.renewMessage(one.number, (one.id, one.body)) } } }
    }

    private func remove(_ id: String) async throws {
        try await SyncError.at(.announce) {
            try await device.cloud.removeMessage(CloudMessageName(sender: device.settings.device, id: id), in: device.zone)
        }
    }

    private func report(sent: Int) throws -> SendReport {
        try SyncError.at(.read) {
            try device.database.read { transaction in
                let entries = try transaction.outbox(onlyMessages: true)
                return SendReport(
                    sent: sent, waiting: entries.count { $0.state == .sent }, held: entries.count { $0.state == .stored },
                    overlays: try transaction.overlayCount())
            }
        }
    }
}

/// What a reader told the publisher.
public struct SendReport: Sendable, Encodable {
    /// How many messages were put into the mailbox.
    public let sent: Int
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
            type: type, entityId: entityId, timestamp: timestamp, id: id, sender: sender, dataset: dataset, entity: entity, readAt: readAt,
            basedOnReadAt: basedOnReadAt)
    }
}
