import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// The state that an entity will have at the publisher once it has applied the pending messages about it. A row is compared with this state.
struct ExpectedEntity {
    enum Difference {
        case nothing
        case untellable(String)
        /// The whole row changed.
        case put(String, isNew: Bool)
        case delete
        /// Only patched columns changed.
        case patch([Int: RowPatch.Change], coversAll: Bool)
    }

    private let rules: MessageRules
    private let hash: SnapshotFormat.ContentHash?
    private let rest: SnapshotFormat.ContentHash?
    /// The expected values of the patched columns.
    private let values: [Int: OwnedValue]
    /// Whether the publisher will have the entity.
    let isThere: Bool
    /// When the entity last changed, according to the version or a later message.
    private let instant: Instant
    /// When the entity was deleted, if known.
    private let deleted: Instant?

    /// - Parameters:
    ///   - base: the applied version's entity.
    ///   - sent: the messages about it that wait for an answer, oldest first.
    ///   - instant: the entity's instant, if it differs from its own timestamp.
    ///   - deleted: when the entity was deleted, according to the version.
    init(
        _ base: EntityCopy?, _ sent: [SyncUpdateMessage], _ schema: DatasetSchema, _ rules: MessageRules, at instant: Instant?, deleted: Instant?
    ) throws {
        self.rules = rules
        let last = sent.last, told = try last.map { try Instant(parsing: $0.timestamp) }
        let latest = instant ?? base?.state.timestamp ?? .distantPast
        // A deletion that is earlier than the version's row has lost: the import brought the row back.
        let isDeleted = last?.type.isDeletion == true && (base == nil || told ?? .distantPast >= latest)
        self.instant = max(latest, told ?? .distantPast)
        self.deleted = isDeleted ? told : deleted
        guard !rules.rows else {
            (rest, values) = (nil, [:])
            guard let entity = last?.entity else {
                (hash, isThere) = (isDeleted ? nil : base?.state.hash, base != nil && !isDeleted)
                return
            }
            let copies = EntityCopies(schema: schema)
            // If the description has changed since the message was written, no row can equal its entity.
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

    /// Finds a row or column that was changed and then reverted to the state of the version or the last message. The revert is sent if it is
    /// later, because the publisher may have changed the value in between. Nil if there is no such change.
    func putBack(_ row: EntityCopy?, _ change: UnsentChange) -> Difference? {
        guard let row, isThere, !change.isDeletion, change.instant > instant else { return nil }
        guard !rules.rows else { return row.state.hash == hash ? row.json.map { .put($0, isNew: false) } : nil }
        // With several columns it is unknown which one was changed, and the message must not undo the publisher's changes of the others.
        guard rules.patched.count == 1, let column = rules.patched.first, change.isMark, row.values[column] == values[column], row.rest == rest else {
            return nil
        }
        // A mark that was absent and is absent again is sent without a known base, so that the later change wins.
        let old = values[column] ?? .null
        let seen = rules.vocabulary == .notifications && old == .null ? OwnedValue("") : old
        return .patch([column: .init(new: old, seen: seen)], coversAll: true)
    }

    /// Returns the difference between a row and this state.
    ///
    /// A deletion that is later than the known one counts as a difference: it must win over another device that brought the entity back in
    /// between.
    func compare(_ row: EntityCopy?, deleted instant: Instant?) -> Difference {
        guard let row, instant == nil else {
            let isLater = if let deleted, let instant { instant > deleted } else { false }
            // Where no message deletes a row, the version's deletion ends the one made here.
            guard isThere || isLater && rules.deletes else { return .nothing }
            return rules.deletes ? .delete : .untellable("no message deletes a row of this dataset")
        }
        if isThere, row.state.hash == hash { return .nothing }
        if rules.rows {
            guard let entity = row.json else { return .untellable([OutboxEntry.unfit, row.fault].compactMap(\.self).joined(separator: "; ")) }
            return .put(entity, isNew: !isThere)
        }
        let isBuiltIn = rules.vocabulary == .notifications
        guard isThere else { return .untellable(isBuiltIn ? OutboxEntry.OtherRow.newNotification : OutboxEntry.OtherRow.new) }
        var changes: [Int: RowPatch.Change] = [:]
        for index in rules.patched where row.values[index] != values[index] {
            changes[index] = RowPatch.Change(new: row.values[index] ?? .null, seen: values[index] ?? .null)
        }
        if !changes.isEmpty { return .patch(changes, coversAll: row.rest == rest) }
        // If only the timestamp differs, the publisher has everything already.
        guard row.rest != rest else { return .nothing }
        if isBuiltIn { return .untellable("no message type edits a notification") }
        return .untellable(rules.patched.isEmpty ? "messages only delete rows of this dataset" : "messages change only some columns of this dataset")
    }
}
