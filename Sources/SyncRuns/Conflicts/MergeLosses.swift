import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText

/// Writes what loses in a merge to the conflict journal.
struct MergeLosses {
    let datasets: [DatasetSchema]
    let transaction: LocalTransaction
    /// The device that made the edits.
    let author: String
    /// The device that made the version; nil if unknown.
    let other: String?
    let note: (Conflict) throws -> Void

    private typealias Side = (values: [OwnedValue]?, at: Instant, device: String?)

    /// Records what loses of an edit, and what loses to it.
    ///
    /// - Parameters:
    ///   - handedOver: what the device hands over of the edit, if that is not all: what the rest overwrites is lost nowhere. Nil: nothing.
    ///   - misfits: whether to record what does not fit.
    func record(_ merge: RowMerge, of edit: Edit, at key: EntityKey, schema: DatasetSchema, handedOver: Edit?, misfits: Bool = true) throws {
        let there = merge.found, isAnother = edit.born != there?.row?.born
        // What is kept is the row after the merge: columns of both sides may stand in it.
        let own: Side = (edit.values, edit.at, author), version: Side = (there?.row?.values, there?.at ?? .distantPast, other)
        func kept(_ side: Side) -> Side { (merge.entry?.row?.values, side.at, side.device) }
        if let columns = loud(merge.later, schema) {
            let reason: ConflictReason = there?.row == nil ? .laterDeletion : isAnother ? .sameKey : .laterEdit
            try record(columns, reason, at: key, schema: schema, loser: own, winner: kept(version))
        }
        if misfits, let columns = loud(merge.misfits, schema) {
            try record(columns, edit.isDeletion ? .parentNeeded : .valueTaken, at: key, schema: schema, loser: own, winner: kept(version))
        }
        let replaced = merge.replaced.filter { lost in
            handedOver.map { $0.isDeletion || lost.column.map { c in handedOver?.changes(c) == true } ?? true } ?? false
        }
        if let columns = loud(replaced, schema) {
            let reason: ConflictReason =
                edit.isDeletion ? .laterDeletion : edit.inserts && isAnother ? .sameKey : edit.restoresParent ? .parentNeeded : .laterEdit
            try record(columns, reason, at: key, schema: schema, loser: version, winner: kept(own))
        }
    }

    /// Records an edit that was refused.
    ///
    /// - Parameters:
    ///   - there: what is in its place.
    ///   - refused: the columns that were refused; nil for all that it changes.
    func recordRefusal(
        of edit: Edit, at key: EntityKey, schema: DatasetSchema, beside there: VersionEntry?, columns refused: [Int]? = nil, detail: String?
    ) throws {
        let own: Side = (edit.values, edit.at, author), version: Side = (there?.row?.values, there?.at ?? .distantPast, other)
        var columns: [Int] = []
        if case .columns(let changed, _) = edit.change, there?.row != nil, !edit.inserts {
            columns = (refused ?? changed.keys.sorted()).filter { !schema.quietColumns.contains($0) }
            guard !columns.isEmpty else { return }
        }
        try record(columns, .refused, at: key, schema: schema, loser: own, winner: version, detail: detail)
    }

    /// The positions of the columns to name; empty for a deletion, nil if nobody misses what is lost.
    private func loud(_ lost: Set<LostValue>, _ schema: DatasetSchema) -> [Int]? {
        if lost.contains(where: { $0.column == nil }) { return [] }
        let quiet = schema.quietColumns, columns = lost.compactMap(\.column).filter { !quiet.contains($0) }.sorted()
        return columns.isEmpty ? nil : columns
    }

    private func record(
        _ columns: [Int], _ reason: ConflictReason, at key: EntityKey, schema: DatasetSchema, loser: Side, winner: Side, detail: String? = nil
    ) throws {
        func side(_ side: Side) throws -> ConflictSide {
            ConflictSide(entity: try side.values.map { try EntityCodec.json.text(schema, $0) }, instant: side.at, device: side.device)
        }
        let isWhole = columns.isEmpty || reason == .sameKey
        try note(
            Conflict(
                dataset: schema.name, key: key, reason: reason, loser: side(loser), winner: side(winner), detail: detail,
                columns: isWhole ? nil : columns.map { schema.columns[$0].name }))
    }
}

/// The number of edits that were written to the conflict journal, by their reasons (``ConflictReason/name``).
struct LostEdits: Hashable, Sendable {
    private(set) var reasons: [String: Int] = [:]

    /// All lost edits.
    var count: Int { reasons.values.reduce(0, +) }

    init() {}

    /// One edit that was written to the journal.
    init(_ conflict: Conflict) { reasons = [conflict.reason.name: 1] }

    static func += (left: inout LostEdits, right: LostEdits) { left.reasons.merge(right.reasons, uniquingKeysWith: +) }
}
