import CloudStore
import LocalStore
import SnapshotModel
import StrictText

/// A publisher's look into the mailbox, before it reads anything to publish: each message is applied or refused, once.
struct MailboxRound: Sendable {
    let device: Device

    /// What a look into the mailbox found.
    struct Outcome: Sendable {
        /// Whether a message that no commit has answered yet asks for everything anew.
        var asksForFullSync = false
        var warnings: [String] = []
    }

    /// How long an answer that was published is remembered, in microseconds: 90 days.
    private static let memory: Int64 = 90 * 86_400_000_000

    /// Applies what waits. What is no message is set aside and stops nothing.
    func run() async throws -> Outcome {
        let heard = try SyncError.at(.read) { try device.database.read { Set(try $0.inbox().map(\.id)) } }
        let mailbox = try await SyncError.at(.fetch) { try await device.cloud.mailbox(MailboxRequest(known: heard), in: device.zone) }
        let now = device.now()
        var setAside = mailbox.setAside.count
        let incoming = mailbox.messages.compactMap { found -> IncomingMessage? in
            guard let message = try? IncomingMessage(found, datasets: device.settings.datasets, now: now) else {
                setAside += 1
                return nil
            }
            return message
        }
        if !incoming.isEmpty { try apply(incoming.sorted(by: Self.comesBefore), at: now) }
        var outcome = try SyncError.at(.read) {
            try device.database.read { Outcome(asksForFullSync: try $0.inbox(onlyUnnamed: true).contains { $0.type == SyncUpdateMessage.UpdateType.fullSync.rawValue }) }
        }
        if setAside > 0 {
            outcome.warnings.append("\(setAside) message\(setAside == 1 ? "" : "s") in the mailbox \(setAside == 1 ? "was" : "were") set aside; snapsync messages says why")
        }
        if mailbox.unreadCount > 0 { outcome.warnings.append("\(mailbox.unreadCount) more messages wait; the next sync goes on with them") }
        try forget(mailbox, now)
        return outcome
    }

    /// By instant; but a bucket goes last, for what pointed at it may be about to go, too.
    private static func comesBefore(_ left: IncomingMessage, _ right: IncomingMessage) -> Bool {
        let leftIsLast = left.message.type == .bucketDeleted, rightIsLast = right.message.type == .bucketDeleted
        if leftIsLast != rightIsLast { return rightIsLast }
        return left.instant == right.instant ? left.name.id < right.name.id : left.instant < right.instant
    }

    /// Applies messages in one transaction; where a foreign key forbids what they do together, one by one.
    private func apply(_ messages: [IncomingMessage], at now: Instant) throws {
        do {
            try SyncError.at(.apply) { try device.database.write { try apply(messages, at: now, in: $0) } }
        } catch let error as SyncError where error.code == .dataRefused {
            for message in messages {
                do {
                    try SyncError.at(.apply) { try device.database.write { try apply([message], at: now, in: $0) } }
                } catch let error as SyncError where error.code == .dataRefused {
                    try SyncError.at(.apply) { try device.database.write { try note(message, .refused(error.reason), at: now, in: $0) } }
                }
            }
        }
    }

    private func apply(_ messages: [IncomingMessage], at now: Instant, in transaction: LocalTransaction) throws {
        try transaction.prepareMailbox()
        try transaction.foldNotes(of: device.settings.datasets)
        let applier = MessageApplier(transaction: transaction, datasets: device.settings.datasets)
        try transaction.importing {
            let deletes = messages.contains { $0.message.type == .notificationDeleted || $0.message.type == .bucketDeleted }
            let keeper = deletes ? try ForeignKeyKeeper(transaction, datasets: device.settings.datasets) : nil
            for message in messages where try !transaction.hasHeard(message.name.id) {
                let isOvertaken = try message.entity.map { try transaction.hasHeardLater(than: message.instant, from: message.name.sender, about: $0) } ?? false
                try note(message, isOvertaken ? .refused("a later message about it came first") : applier.apply(message), at: now, in: transaction)
            }
            try keeper?.settle()
        }
    }

    private func note(_ message: IncomingMessage, _ outcome: MessageApplier.Outcome, at now: Instant, in transaction: LocalTransaction) throws {
        var reason: String?
        if case .refused(let why) = outcome { reason = why }
        try transaction.noteHeard(
            InboxEntry(id: message.name.id, sender: message.name.sender, type: message.message.type.rawValue, isApplied: reason == nil, reason: reason, namedIn: nil),
            about: message.entity, sent: message.instant, at: now)
    }

    private func forget(_ mailbox: CloudMailbox, _ now: Instant) throws {
        let horizon = now.advanced(byMicroseconds: -Self.memory)
        let hasOld = try SyncError.at(.read) { try device.database.read { try $0.hasHeard(before: horizon) } }
        guard hasOld, mailbox.unreadCount == 0 else { return }
        let waiting = Set(mailbox.known.map(\.id) + mailbox.messages.map(\.id))
        try SyncError.at(.apply) { try device.database.write { try $0.forgetHeard(before: horizon, exceptThose: waiting) } }
    }
}
