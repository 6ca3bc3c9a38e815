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

    /// What becomes of a tracked change that carries a read mark.
    enum Decision: Sendable {
        /// The version's entity comes in as it is; the change is tracked no longer.
        case version
        /// The row stays as it is.
        case row
        /// The version's entity comes in with the mark on top.
        case overlay
    }

    /// One tracked change whose message is about `readAt`.
    struct Mark: Sendable {
        let new: String?
        let basedOn: String?
        /// Whether the mark is all that was changed.
        let isAll: Bool
        /// Whether the mark was applied already, so that only the rest of the change is left.
        let isApplied: Bool
    }

    /// The marks in a range of keys.
    func marks(in range: KeyRange) throws -> [EntityKey: Mark] {
        var marks: [EntityKey: Mark] = [:]
        for told in try transaction.toldChanges(of: schema, in: range) {
            guard let message = try? StrictJSON.decode(SyncUpdateMessage.self, from: told.body), message.type == .notificationRead else { continue }
            marks[told.key] = Mark(new: message.newReadAt, basedOn: message.basedOnReadAt, isAll: told.coversAll, isApplied: told.state == .applied)
        }
        return marks
    }

    /// A sink that keeps of a version's block what ``decide(_:_:over:wins:)`` looks at.
    func copies(of keys: some Collection<EntityKey>) -> EntityCopies {
        let wanted = Set(keys)
        return EntityCopies(schema: schema, masking: [readAt]) { wanted.contains($0) }
    }

    /// Decides about one marked change.
    ///
    /// - Parameters:
    ///   - entity: the version's; nil if it has none of that key.
    ///   - wins: whether the change as a whole is later than what the version says.
    ///   - isTie: whether it is of the same instant.
    func decide(_ mark: Mark, over entity: EntityCopy?, wins: Bool, isTie: Bool) -> Decision {
        // A mark alone brings no entity back.
        guard let entity else { return mark.isAll ? .version : wins ? .row : .version }
        // The tie is with the mark's own effect; the rest of the change has not travelled.
        if mark.isApplied { return wins || isTie ? .row : .version }
        if !mark.isAll, wins { return .row }
        guard entity.texts[readAt] != mark.new else { return .version }
        return entity.texts[readAt] == mark.basedOn || wins ? .overlay : .version
    }

    /// Puts the marks that were decided to be overlays on the rows that have come in.
    func applyOverlays() throws {
        for told in try transaction.overlaidChanges(of: schema) {
            let message = try StrictJSON.decode(SyncUpdateMessage.self, from: told.body)
            let row = EntityCopies(schema: schema, masking: [])
            try transaction.giveRow(told.key, of: schema, to: row)
            try transaction.setTexts(Self.texts(of: message, at: readAt, in: schema, over: row.copies[told.key]?.state.timestamp), of: told.key, in: schema)
        }
    }

    /// What a read mark sets: `readAt`, and the timestamp if the mark is later.
    static func texts(of message: SyncUpdateMessage, at readAt: Int, in schema: DatasetSchema, over timestamp: Instant?) throws -> [Int: String?] {
        var texts: [Int: String?] = [readAt: message.newReadAt]
        if let index = schema.timestampIndex, try timestamp.map({ $0 < (try Instant(parsing: message.timestamp)) }) ?? true {
            texts.updateValue(message.timestamp, forKey: index)
        }
        return texts
    }
}
