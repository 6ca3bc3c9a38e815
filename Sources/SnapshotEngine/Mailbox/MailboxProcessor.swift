import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

/// Reads a publisher's mailbox before the export reads any rows. Each message is applied or refused once.
struct MailboxProcessor: Sendable {
    let device: SyncContext

    /// The result of reading the mailbox.
    struct Outcome: Sendable {
        /// Whether an unanswered message asks for every dataset to be written whole.
        var asksForFullSync = false
        /// Whether the mailbox was not even listed, because nothing new can be in it.
        var isUnchanged = false
        /// The number of edits that lost to messages, or that came in refused messages.
        var conflicts = LostEdits()
        var warnings: [String] = []
    }

    /// How long a published answer is remembered, in microseconds: 90 days.
    private static let memory: Int64 = 90 * 86_400_000_000

    /// How long the mailbox's mark must have been unchanged before it is trusted, in microseconds. This is longer than the clock of any file
    /// system stands still.
    private static let settling: Int64 = 10_000_000
    /// How long a message waits for a row that it refers to, in microseconds: a day.
    private static let patience: Int64 = 86_400_000_000
    /// The mailbox is listed at least once in each period of this length, whatever its mark says, in microseconds: one hour.
    private static let rest: Int64 = 3_600_000_000

    /// Applies the waiting messages. An item that is no message is set aside and stops nothing.
    ///
    /// - Parameter mayRest: whether to skip listing the mailbox if its mark says that nothing has arrived.
    func run(mayRest: Bool = false) async throws -> Outcome {
        let look = try device.database.read(at: .read) { try $0.state.mailboxListing() }
        if mayRest, let look, try await isAsBefore(look) { return Outcome(isUnchanged: true) }
        return try await listAndApply(look)
    }

    /// Whether nothing can have arrived since the mailbox was last listed. Two conditions: the mark is the same, and a successful run has listed
    /// the mailbox after the mark had been unchanged for long enough.
    ///
    /// Such a run either listed the mailbox or relied on a run that did; the first of them must have listed it. If a file system's times are
    /// wrong, the next listing is at most an hour away: a message is then seen later, but not lost.
    private func isAsBefore(_ look: MailboxListingCache) async throws -> Bool {
        let now = device.now()
        let last = try device.database.read(at: .read) { transaction in
            try transaction.state.lastIdleRun(of: device.settings.role)
                ?? transaction.state.lastRun(.export).map { $0.at.advanced(byMicroseconds: -$0.microseconds) }
        }
        guard let began = last, began >= look.since.advanced(byMicroseconds: Self.settling),
            began <= now, began.microseconds / Self.rest == now.microseconds / Self.rest,
            let mark = try? StrictJSON.decode(MailboxMark.self, from: look.mark)
        else { return false }
        return try await device.cloud.at(.fetch).isMailboxUnchanged(since: mark, in: device.zone)
    }

    private func listAndApply(_ look: MailboxListingCache?) async throws -> Outcome {
        let datasets = device.settings.datasets
        let heard = try device.database.read(at: .read) { Set(try $0.inbox.entries().map(\.id)) }
        let mailbox = try await device.cloud.at(.fetch).mailbox(MailboxRequest(known: heard), in: device.zone)
        // One statement for each dataset, which a run without messages does not need.
        let removed = try mailbox.messages.isEmpty ? [:] : device.database.read(at: .read) { try $0.state.removedColumns(of: datasets) }
        let now = device.now()
        var setAside = mailbox.setAside.count
        let incoming = mailbox.messages.compactMap { found -> IncomingMessage? in
            guard let message = try? IncomingMessage(found, datasets: datasets, removed: removed, now: now) else {
                setAside += 1
                return nil
            }
            return message
        }
        let applied = try incoming.isEmpty ? Applied() : apply(incoming, at: now, mayWait: true)
        var outcome = try device.database.read(at: .read) {
            Outcome(asksForFullSync: try $0.inbox.entries(onlyUnnamed: true).contains { $0.type == SyncUpdateMessage.UpdateType.fullSync.rawValue })
        }
        outcome.warnings += applied.notices
        outcome.conflicts = applied.conflicts
        if setAside > 0 {
            outcome.warnings.append(
                "\(Format.count(setAside, "message")) in the mailbox \(Format.word(setAside, "was", "were")) set aside; snapsync messages says why")
        }
        if applied.waitingCount > 0 {
            let count = applied.waitingCount
            outcome.warnings.append(
                "\(Format.count(count, "message waits", "messages wait")) for rows that \(Format.word(count, "it refers", "they refer")) to; the next sync tries again, and refuses \(Format.word(count, "it", "them")) a day after the change"
            )
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

    /// Sorts by instant, but puts deletions of rows that others may refer to at the end, children first: the rows that refer to them may be
    /// deleted by other messages. Of one instant, such as those of one statement and its foreign keys' actions, deletions come last, too.
    private func inOrder(_ messages: [IncomingMessage]) -> [IncomingMessage] {
        let places = Dictionary(device.settings.datasets.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        func order(_ one: IncomingMessage) -> (Int, Instant, Int, String) {
            let isDeletion = one.subject?.operation == .delete
            let last = isDeletion ? -(places[one.subject?.schema.name ?? ""] ?? 0) : .min
            return (one.isDeletionOfRow ? last : .min, one.instant, last, one.name.id)
        }
        return messages.map { (order: order($0), message: $0) }.sorted { $0.order < $1.order }.map(\.message)
    }

    /// The result of applying messages.
    struct Applied {
        /// Notices about actions of triggers that did not happen.
        var notices: [String] = []
        /// The number of edits that were written to the conflict journal.
        var conflicts = LostEdits()
        /// The number of messages that wait for the next sync.
        var waitingCount = 0
        /// Messages that the present tables do not allow, and that were not refused yet.
        var blocked: [IncomingMessage] = []

        static func += (left: inout Applied, right: Applied) {
            left.notices += right.notices
            left.conflicts += right.conflicts
            left.waitingCount += right.waitingCount
        }
    }

    /// Applies messages in one transaction. If a foreign key forbids their common result, applies all that are not forbidden by themselves.
    ///
    /// - Parameter mayWait: whether to keep a message for the next sync if its row refers to a missing row: a sync tool may deliver the other
    ///   row's message later.
    func apply(_ messages: [IncomingMessage], at now: Instant, mayWait: Bool = false) throws -> Applied {
        func write(_ messages: [IncomingMessage], isLast: Bool = true) throws -> Applied {
            try SyncError.at(.apply) {
                try device.database.withoutRollbacks {
                    try device.database.write { try apply(messages, at: now, isLast: isLast, mayWait: mayWait, in: $0) }
                }
            }
        }
        let messages = inOrder(messages)
        do {
            return try write(messages)
        } catch let error as SyncError where error.code == .dataRefused {
            var applied = Applied(), rounds = MessageRounds(messages)
            // Halves a part until only the messages that are forbidden stand alone: each transaction looks at all rows with foreign keys.
            func writeParts(_ part: [IncomingMessage], isLast: Bool) throws -> [IncomingMessage] {
                guard !part.isEmpty else { return [] }
                do {
                    let one = try write(part, isLast: isLast)
                    applied += one
                    return one.blocked
                } catch let error as SyncError where error.code == .dataRefused {
                    guard part.count == 1, let message = part.first else {
                        let middle = part.count / 2
                        return try writeParts(Array(part[..<middle]), isLast: isLast) + writeParts(Array(part[middle...]), isLast: isLast)
                    }
                    applied.conflicts += try device.database.write(at: .apply) { transaction in
                        try transaction.mailbox.prepare()
                        let conflicts = MessageConflicts(transaction, device: device.settings.device, now: now)
                        try note(message, error.reason, conflicts, at: now, in: transaction)
                        return conflicts.count
                    }
                    return []
                }
            }
            while try rounds.goOn(with: writeParts(rounds.open, isLast: false)) {}
            _ = try writeParts(rounds.open, isLast: true)
            return applied
        }
    }

    /// - Parameter isLast: whether to refuse messages that cannot be applied; otherwise they are returned.
    private func apply(_ messages: [IncomingMessage], at now: Instant, isLast: Bool, mayWait: Bool, in transaction: LocalTransaction) throws -> Applied {
        try transaction.mailbox.prepare()
        try transaction.changeLog.consolidate(of: device.settings.datasets)
        let made = MadeStates()
        let conflicts = MessageConflicts(transaction, device: device.settings.device, now: now, made: made)
        let applier = MessageApplier(transaction: transaction, datasets: device.settings.datasets, conflicts: conflicts, now: now, made: made)
        // A new row may refer to a row of a table that is not synced.
        let enforces = messages.contains { $0.message.type.isDeletion || $0.subject?.rules?.vocabulary == .rows }
        let keeper = enforces ? try ForeignKeyEnforcer(transaction, datasets: device.settings.datasets) : nil
        var waitingCount = 0, left: [IncomingMessage] = []
        try transaction.tracking.importing(device.settings.datasets, then: { try keeper?.enforce() }) {
            let applied = try transaction.state.applied()?.number ?? 0
            // If a version that this device has not read yet allows the message, keep it for later.
            let open = try messages.filter { message in
                if message.subject?.refusal != nil, let version = message.message.version, version > applied { return false }
                return try !transaction.inbox.hasReceived(message.name.id)
            }
            var rounds = MessageRounds(open)
            var blocked: [(message: IncomingMessage, reason: String, isDangling: Bool)] = []
            repeat {
                blocked = []
                for message in rounds.open {
                    let isOvertaken =
                        try message.entity.map {
                            try transaction.inbox.hasAppliedLater(
                                than: message.instant, from: message.name.sender, about: $0, notKnownAt: message.message.version)
                        } ?? false
                    if isOvertaken {
                        // An edit that its own author has replaced is not lost.
                        try note(message, "a later message about it came first", nil, at: now, in: transaction)
                        continue
                    }
                    switch try applier.apply(message) {
                    case .applied: try note(message, nil, conflicts, at: now, in: transaction)
                    case .refused(let reason): try note(message, reason, conflicts, at: now, in: transaction)
                    case .blocked(let reason, let isDangling): blocked.append((message, reason, isDangling))
                    }
                }
            } while rounds.goOn(with: blocked.map(\.message))
            guard isLast else {
                left = blocked.map(\.message)
                return
            }
            for one in blocked {
                let waits = mayWait && one.isDangling && one.message.instant > now.advanced(byMicroseconds: -Self.patience)
                if waits { waitingCount += 1 } else { try note(one.message, one.reason, conflicts, at: now, in: transaction) }
            }
        }
        return Applied(notices: transaction.triggerNotices, conflicts: conflicts.count, waitingCount: waitingCount, blocked: left)
    }

    /// Records a message's result.
    ///
    /// - Parameter reason: why it was refused; nil if it was applied.
    private func note(
        _ message: IncomingMessage, _ reason: String?, _ conflicts: MessageConflicts?, at now: Instant, in transaction: LocalTransaction
    ) throws {
        if let reason { try conflicts?.recordRefusal(of: message, because: reason) }
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

/// The messages that a publisher has still to apply. It tries those that the tables do not allow yet again after the others, as long as that changes
/// anything; only then come deletions of rows, for a message that had to wait may add a row that refers to the one to be deleted.
private struct MessageRounds {
    private(set) var open: [IncomingMessage]
    private var deletions: [IncomingMessage]

    init(_ messages: [IncomingMessage]) {
        open = messages.filter { !$0.isDeletionOfRow }
        deletions = messages.filter(\.isDeletionOfRow)
    }

    /// Goes on with the messages that a round has left. Returns false if another round would change nothing.
    mutating func goOn(with blocked: [IncomingMessage]) -> Bool {
        let hasProgress = blocked.count < open.count
        open = blocked
        guard !hasProgress else { return true }
        defer { (open, deletions) = (open + deletions, []) }
        return !deletions.isEmpty
    }
}
