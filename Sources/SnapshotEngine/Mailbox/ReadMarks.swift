import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Keeps read marks that were not answered yet on top of a version that comes in, so that nothing flickers back to unread.
///
/// What a reader shows is the version with its own messages applied to it, in the way the publisher will apply them.
struct ReadMarks {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    private let readAt: Int

    /// Nil for a dataset whose entities cannot be marked as read.
    init?(_ schema: DatasetSchema, in transaction: LocalTransaction) {
        guard case .notifications(let readAt)? = MessageKind(schema) else { return nil }
        self.schema = schema
        self.transaction = transaction
        self.readAt = readAt
    }

    /// What becomes of a tracked change.
    enum Decision: Sendable {
        /// The version's entity comes in as it is; the change is tracked no longer.
        case version
        /// The row stays as it is.
        case row
        /// The version's entity comes in with the mark on top.
        case overlay
    }

    /// What was told of one entity that has a tracked change.
    struct Sent: Sendable {
        /// The entry of the change itself; nil if it was made after the last comparison.
        var state: OutboxEntry.State?
        var coversAll = false
        /// The marks that wait for an answer, oldest first.
        var marks: [SyncUpdateMessage] = []
        /// Marks before those whose answers may have been missed: what ``marks`` build on, and nothing by themselves unless the change's own is
        /// the last of them.
        var inDoubt: [SyncUpdateMessage] = []

        /// What the version's `readAt` becomes with the marks on top.
        func outcome(on readAt: String?, at instant: Instant) -> (readAt: String?, last: SyncUpdateMessage?) {
            guard !marks.isEmpty || state == .doubtful else { return (readAt, nil) }
            let outcome = ReadMarks.outcome(of: inDoubt + marks, on: readAt, at: instant)
            return state == .doubtful || marks.contains { $0.id == outcome.last?.id } ? outcome : (readAt, nil)
        }
    }

    /// What was told of entities that have tracked changes.
    func sent(of keys: some Sequence<EntityKey>) throws -> [EntityKey: Sent] {
        guard try transaction.mailbox.exist() else { return [:] }
        return try Self.group(keys.flatMap { try transaction.outbox.sentChanges(of: $0, in: schema) })
    }

    private static func group(_ entries: [SentChange]) throws -> [EntityKey: Sent] {
        var sent: [EntityKey: Sent] = [:]
        for entry in entries {
            var one = sent[entry.key] ?? Sent()
            if entry.isCurrent { (one.state, one.coversAll) = (entry.state, entry.coversAll) }
            if let body = entry.body, [.stored, .sent, .doubtful].contains(entry.state) {
                let message = try StrictJSON.decode(SyncUpdateMessage.self, from: body)
                let place = entry.state == .doubtful ? \Sent.inDoubt : \Sent.marks
                if message.type == .notificationRead { one[keyPath: place].append(message) }
            }
            sent[entry.key] = one
        }
        return sent
    }

    /// A sink that keeps of a version's block what ``decide(_:over:at:_:wins:)`` looks at.
    func copies(of keys: some Collection<EntityKey>) -> EntityCopies {
        let wanted = Set(keys)
        return EntityCopies(schema: schema, masking: [readAt]) { wanted.contains($0) }
    }

    /// Decides about one change.
    ///
    /// - Parameters:
    ///   - entity: the version's; nil if it has none of that key.
    ///   - instant: the entity's.
    ///   - wins: whether the change as a whole is later than what the version says.
    func decide(_ sent: Sent, over entity: EntityCopy?, at instant: Instant, _ change: TrackedChange, wins: Bool) -> Decision {
        let isMark = sent.coversAll && !change.isDeletion
        // In doubt it is told again, unless the version has something later.
        if isMark, sent.state == .doubtful, !wins { return .version }
        // The publisher had something as late when it refused the mark: of two marks with equal instants the one that came first stays.
        if isMark, sent.state == .refused, change.instant <= instant { return .version }
        let isCarried = isMark && [.stored, .sent, .same, .applied, .doubtful].contains(sent.state)
        // A tie is with the effect of a mark that came with more, which has not travelled.
        let isTie = sent.state == .applied && change.instant == instant && entity != nil
        // A mark alone brings no entity back, nor does it where the version that lacks it is the one that says so, or where the answer was missed.
        if isMark, entity == nil, sent.state == .refused || sent.state == .doubtful { return .version }
        if !isCarried, wins || isTie { return .row }
        guard let entity else { return .version }
        return sent.outcome(on: entity.texts[readAt], at: instant).last == nil ? .version : .overlay
    }

    /// Puts the marks that were decided to be overlays on the rows that have come in.
    func applyOverlays(to keys: some Sequence<EntityKey>) throws {
        for (key, sent) in try sent(of: keys) {
            let copies = copies(of: [key])
            try transaction.rows.giveRow(key, of: schema, to: copies)
            guard let row = copies.copies[key] else { continue }
            let instant = try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? row.state.timestamp ?? .distantPast
            let (mark, last) = sent.outcome(on: row.texts[readAt], at: instant)
            guard let last else { continue }
            // The row's own timestamp may become the mark's; what is changed on top of both must be later than both.
            if instant != .distantPast { try transaction.tombstonesAndInstants.setPresent(key, at: instant, in: schema) }
            try transaction.rows.setTexts(Self.texts(mark, of: last, at: readAt, in: schema, over: row.state.timestamp), of: key, in: schema)
        }
    }

    /// What `readAt` becomes when marks are applied in turn, and the last of them that changes it; nil if none does.
    ///
    /// A mark is applied if `readAt` is what its sender saw, or if it is later than what it replaces.
    static func outcome(of marks: [SyncUpdateMessage], on readAt: String?, at instant: Instant) -> (readAt: String?, last: SyncUpdateMessage?) {
        var (readAt, instant, last) = (readAt, instant, nil as SyncUpdateMessage?)
        for mark in marks where mark.type == .notificationRead && readAt != mark.newReadAt {
            let markedAt = (try? Instant(parsing: mark.timestamp)) ?? .distantPast
            guard readAt == mark.basedOnReadAt || markedAt > instant else { continue }
            (readAt, instant, last) = (mark.newReadAt, max(markedAt, instant.advanced(byMicroseconds: instant == .distantPast ? 0 : 1)), mark)
        }
        return (readAt, last)
    }

    /// What a mark sets: `readAt`, and the timestamp if the mark is later.
    static func texts(_ newReadAt: String?, of mark: SyncUpdateMessage, at readAt: Int, in schema: DatasetSchema, over timestamp: Instant?) throws -> [Int:
        String?]
    {
        var texts: [Int: String?] = [readAt: newReadAt]
        if let index = schema.timestampIndex, try timestamp.map({ $0 < (try Instant(parsing: mark.timestamp)) }) ?? true {
            texts.updateValue(mark.timestamp, forKey: index)
        }
        return texts
    }
}
