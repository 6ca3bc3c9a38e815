import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// What the publisher will have of an entity once the messages that were told of it are applied: what a row is compared with.
struct ExpectedEntity {
    enum Difference {
        case nothing
        case untellable(String)
        /// The row as a whole.
        case put(String, isNew: Bool)
        case delete
        /// Columns by themselves.
        case patch([Int: RowPatch.Change], coversAll: Bool)
    }

    private let rules: MessageRules
    private let hash: SnapshotFormat.ContentHash?
    private let rest: SnapshotFormat.ContentHash?
    /// What the columns are that are changed by themselves.
    private let values: [Int: OwnedValue]
    private let isThere: Bool
    /// When the entity was last changed, by the version or by what was told since.
    private let instant: Instant
    /// When it was deleted, as far as that is known.
    private let deleted: Instant?

    /// - Parameters:
    ///   - base: the applied version's entity.
    ///   - sent: the messages about it that wait for an answer, oldest first.
    ///   - instant: the entity's instant, where it is not its own timestamp.
    ///   - deleted: when the version says that it was deleted.
    init(
        _ base: EntityCopy?, _ sent: [SyncUpdateMessage], _ schema: DatasetSchema, _ rules: MessageRules, at instant: Instant?, deleted: Instant?
    ) throws {
        self.rules = rules
        let last = sent.last, isDeleted = last?.type.isDeletion == true
        let told = try last.map { try Instant(parsing: $0.timestamp) }
        self.instant = max(instant ?? base?.state.timestamp ?? .distantPast, told ?? .distantPast)
        self.deleted = isDeleted ? told : deleted
        guard !rules.rows else {
            (rest, values) = (nil, [:])
            guard let entity = last?.entity else {
                (hash, isThere) = (isDeleted ? nil : base?.state.hash, base != nil && !isDeleted)
                return
            }
            let copies = EntityCopies(schema: schema)
            // What was told before the description changed is nothing that a row can equal.
            hash = (try? EntityDocument.give(entity, of: schema, to: copies)).flatMap { _ in copies.copies.values.first?.state.hash }
            isThere = true
            return
        }
        isThere = base != nil && !isDeleted
        rest = base?.rest
        hash = sent.isEmpty ? base?.state.hash : nil
        values =
            base.map { base in
                RowPatch.outcome(
                    of: sent.compactMap { try? RowPatch($0, schema) }, on: base.values.filter { rules.patched.contains($0.key) },
                    at: instant ?? base.state.timestamp ?? .distantPast
                ).values
            } ?? [:]
    }

    /// A row or column that was changed and is again as the version or the last message has it: told where that was later, for the
    /// publisher may have changed it in between. Nil where it is no such change.
    func putBack(_ row: EntityCopy?, _ change: UnsentChange) -> Difference? {
        guard let row, isThere, !change.isDeletion, change.instant > instant else { return nil }
        guard !rules.rows else { return row.state.hash == hash ? row.json.map { .put($0, isNew: false) } : nil }
        // Of several columns it is not known which one was changed, and the others must not undo what the publisher did.
        guard rules.patched.count == 1, let column = rules.patched.first, change.isMark, row.values[column] == values[column], row.rest == rest else {
            return nil
        }
        // That a mark is not there, and was not, is told like one whose base is not known: the later change wins.
        let old = values[column] ?? .null
        let seen = rules.vocabulary == .notifications && old == .null ? OwnedValue("") : old
        return .patch([column: .init(new: old, seen: seen)], coversAll: true)
    }

    /// What a row is, told as a change of this.
    ///
    /// A deletion that is later than the known one is told: it holds against who brought the entity back in between.
    func compare(_ row: EntityCopy?, deleted instant: Instant?) -> Difference {
        guard let row, instant == nil else {
            let isLater = if let deleted, let instant { instant > deleted } else { false }
            guard isThere || isLater else { return .nothing }
            return rules.deletes ? .delete : .untellable("no message deletes a row of this dataset")
        }
        if isThere, row.state.hash == hash { return .nothing }
        if rules.rows {
            guard let entity = row.json else { return .untellable("the row cannot travel") }
            return .put(entity, isNew: !isThere)
        }
        let isBuiltIn = rules.vocabulary == .notifications
        guard isThere else { return .untellable(isBuiltIn ? "no message type creates a notification" : "no message adds a row to this dataset") }
        var changes: [Int: RowPatch.Change] = [:]
        for index in rules.patched where row.values[index] != values[index] {
            changes[index] = RowPatch.Change(new: row.values[index] ?? .null, seen: values[index] ?? .null)
        }
        if !changes.isEmpty { return .patch(changes, coversAll: row.rest == rest) }
        // A timestamp alone says nothing that the publisher does not have.
        guard row.rest != rest else { return .nothing }
        if isBuiltIn { return .untellable("no message type edits a notification") }
        return .untellable(rules.patched.isEmpty ? "messages only delete rows of this dataset" : "messages change only some columns of this dataset")
    }
}
