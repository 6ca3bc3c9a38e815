import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// A publisher's look into the mailbox, before it reads anything to publish: each message is applied or refused, once.
struct MailboxProcessor: Sendable {
    let device: SyncContext

    /// What a look into the mailbox found.
    struct Outcome: Sendable {
        /// Whether a message that no commit has answered yet asks for everything anew.
        var asksForFullSync = false
        /// Whether the mailbox was not even listed, for nothing has come.
        var isUnchanged = false
        /// How many edits lost to messages, or were lost with messages that were refused.
        var conflicts = LostEdits()
        var warnings: [String] = []
    }

    /// How long an answer that was published is remembered, in microseconds: 90 days.
    private static let memory: Int64 = 90 * 86_400_000_000

    /// For how long a mark must have been the same before it is rested on, in microseconds: longer than any file system's clock
    /// stands still.
    private static let settling: Int64 = 10_000_000
    /// The mailbox is listed anew in each of these, whatever its mark says, in microseconds: one hour.
    private static let rest: Int64 = 3_600_000_000

    /// Applies what waits. What is no message is set aside and stops nothing.
    ///
    /// - Parameter mayRest: whether the mailbox need not be listed where its mark says that nothing has come.
    func run(mayRest: Bool = false) async throws -> Outcome {
        let look = try device.database.read(at: .read) { try $0.state.mailboxListing() }
        if mayRest, let look, try await isAsBefore(look) { return Outcome(isUnchanged: true) }
        return try await listAndApply(look)
    }

    /// Whether nothing can have come since the mailbox was last listed: its mark is the same, and a run that ended well has listed it
    /// after the mark had been the same for long enough.
    ///
    /// Such a run either listed, or rested on one that had; the first one cannot but have listed. Should a file system's times say
    /// nothing after all, the next listing is never more than an hour away, and a message is seen later, not lost.
    private func isAsBefore(_ look: MailboxListingCache) async throws -> Bool {
        let now = device.now()
        let last = try device.database.read(at: .read) { (idle: try $0.state.lastIdleRun(of: device.settings.role), noted: try $0.state.lastRun(.export)) }
        guard let run = last.idle ?? last.noted.map({ ($0.at, $0.microseconds) }), let took = run.microseconds,
            run.at.advanced(byMicroseconds: -took) >= look.since.advanced(byMicroseconds: Self.settling),
            run.at <= now, run.at.microseconds / Self.rest == now.microseconds / Self.rest,
            let mark = try? StrictJSON.decode(MailboxMark.self, from: look.mark)
        else { return false }
        return try await device.cloud.at(.fetch).isMailboxUnchanged(since: mark, in: device.zone)
    }

    private func listAndApply(_ look: MailboxListingCache?) async throws -> Outcome {
        let heard = try device.database.read(at: .read) { Set(try $0.inbox.entries().map(\.id)) }
        let mailbox = try await device.cloud.at(.fetch).mailbox(MailboxRequest(known: heard), in: device.zone)
        let now = device.now()
        var setAside = mailbox.setAside.count
        let incoming = mailbox.messages.compactMap { found -> IncomingMessage? in
            guard let message = try? IncomingMessage(found, datasets: device.settings.datasets, now: now) else {
                setAside += 1
                return nil
            }
            return message
        }
        let applied = try incoming.isEmpty ? (notices: [], conflicts: LostEdits()) : apply(incoming.sorted(by: Self.comesBefore), at: now)
        var outcome = try device.database.read(at: .read) {
            Outcome(asksForFullSync: try $0.inbox.entries(onlyUnnamed: true).contains { $0.type == SyncUpdateMessage.UpdateType.fullSync.rawValue })
        }
        outcome.warnings += applied.notices
        outcome.conflicts = applied.conflicts
        if setAside > 0 {
            outcome.warnings.append(
                "\(Format.count(setAside, "message")) in the mailbox \(Format.word(setAside, "was", "were")) set aside; snapsync messages says why")
        }
        if mailbox.unreadCount > 0 { outcome.warnings.append("\(mailbox.unreadCount) more messages wait; the next sync goes on with them") }
        try forget(mailbox, now)
        try remember(mailbox.mark, look, now)
        return outcome
    }

    private func remember(_ mark: MailboxMark?, _ look: MailboxListingCache?, _ now: Instant) throws {
        let text = try mark.map { try StrictJSON.text($0) }
        guard text != look?.mark else { return }
        try device.database.write(at: .apply) { try $0.state.setMailboxListing(text.map { MailboxListingCache(mark: $0, since: now) }) }
    }

    /// By instant; but a bucket goes last, for what pointed at it may be about to go, too.
    private static func comesBefore(_ left: IncomingMessage, _ right: IncomingMessage) -> Bool {
        let leftIsLast = left.message.type == .bucketDeleted, rightIsLast = right.message.type == .bucketDeleted
        if leftIsLast != rightIsLast { return rightIsLast }
        return left.instant == right.instant ? left.name.id < right.name.id : left.instant < right.instant
    }

    /// Applies messages in one transaction; where a foreign key forbids what they do together, one by one.
    ///
    /// - Returns: what triggers did not do, and how many edits were written to the conflict journal.
    func apply(_ messages: [IncomingMessage], at now: Instant) throws -> (notices: [String], conflicts: LostEdits) {
        func write(_ messages: [IncomingMessage]) throws -> (notices: [String], conflicts: LostEdits) {
            try SyncError.at(.apply) { try device.database.withoutRollbacks { try device.database.write { try apply(messages, at: now, in: $0) } } }
        }
        do {
            return try write(messages)
        } catch let error as SyncError where error.code == .dataRefused {
            var notices: [String] = [], count = LostEdits()
            for message in messages {
                do {
                    let applied = try write([message])
                    notices += applied.notices
                    count += applied.conflicts
                } catch let error as SyncError where error.code == .dataRefused {
                    count += try device.database.write(at: .apply) { transaction in
                        let conflicts = MessageConflicts(transaction, device: device.settings.device, now: now)
                        try note(message, .refused(error.reason), conflicts, at: now, in: transaction)
                        return conflicts.count
                    }
                }
            }
            return (notices, count)
        }
    }

    private func apply(_ messages: [IncomingMessage], at now: Instant, in transaction: LocalTransaction) throws -> (notices: [String], conflicts: LostEdits) {
        try transaction.mailbox.prepare()
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        let conflicts = MessageConflicts(transaction, device: device.settings.device, now: now)
        let applier = MessageApplier(transaction: transaction, datasets: device.settings.datasets, conflicts: conflicts, now: now)
        let deletes = messages.contains { $0.message.type.isDeletion }
        let keeper = deletes ? try ForeignKeyEnforcer(transaction, datasets: device.settings.datasets) : nil
        try transaction.tracking.importing(device.settings.datasets, then: { try keeper?.enforce() }) {
            for message in messages where try !transaction.inbox.hasReceived(message.name.id) {
                let isOvertaken =
                    try message.entity.map {
                        try transaction.inbox.hasAppliedLater(than: message.instant, from: message.name.sender, about: $0, notKnownAt: message.message.version)
                    } ?? false
                // What its own author has overtaken is not lost.
                try note(
                    message, isOvertaken ? .refused("a later message about it came first") : applier.apply(message), isOvertaken ? nil : conflicts, at: now,
                    in: transaction)
            }
        }
        return (transaction.triggerNotices, conflicts.count)
    }

    private func note(
        _ message: IncomingMessage, _ outcome: MessageApplier.Outcome, _ conflicts: MessageConflicts?, at now: Instant, in transaction: LocalTransaction
    ) throws {
        var reason: String?
        if case .refused(let why) = outcome {
            reason = why
            try conflicts?.recordRefusal(of: message, because: why)
        }
        try transaction.inbox.recordReceived(
            InboxEntry(
                id: message.name.id, sender: message.name.sender, type: message.message.type.rawValue, isApplied: reason == nil, reason: reason, namedIn: nil),
            about: message.entity, sent: message.instant, at: now)
    }

    private func forget(_ mailbox: CloudMailbox, _ now: Instant) throws {
        let horizon = now.advanced(byMicroseconds: -Self.memory)
        let hasOld = try device.database.read(at: .read) { try $0.inbox.hasReceived(before: horizon) }
        guard hasOld, mailbox.unreadCount == 0 else { return }
        let waiting = Set(mailbox.known.map(\.id) + mailbox.messages.map(\.id))
        try device.database.write(at: .apply) { try $0.inbox.forgetReceived(before: horizon, exceptThose: waiting) }
    }
}
