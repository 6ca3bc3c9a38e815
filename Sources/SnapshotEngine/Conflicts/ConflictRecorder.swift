import Foundation
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Writes the losing sides of contested changes to the conflict journal, in the transaction in which they lose.
///
/// Call it before a row changes. Memory: the contested entities that really differ.
struct ConflictRecorder {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let ledger: ImportLedger
    /// The columns that the version does not have.
    var missing: [Int] = []
    /// The columns that no imported version has filled yet. A row's value there is restored if the version has none.
    var unseen: [Int] = []

    /// Records the contested changes whose two sides really differ.
    ///
    /// - Parameter block: the version's entities with these keys; nil if the version has none.
    func record(_ contested: [ContestedChange], _ block: EntityBlock?) throws {
        guard !contested.isEmpty else { return }
        let comparison = EntityComparison(schema, ignoring: missing)
        let wanted = Set(contested.lazy.filter(\.isInVersion).map(\.change.key))
        let version = comparison.copies { wanted.contains($0) }
        if !wanted.isEmpty { try block?.give(to: version) }
        let lookup = try transaction.rows.lookup(of: schema)
        for one in contested {
            let change = one.change
            let here = comparison.copies()
            if !change.isDeletion { _ = try lookup.give(change.key, to: here) }
            let row = here.copies[change.key], entity = version.copies[change.key]
            guard comparison.differ(row, entity, onlyMarked: change.isMark, isMarkKept: one.isMarkKept) else { continue }
            if change.isCarried, !unseen.isEmpty, !giveWay(row?.json, to: entity?.json) { continue }
            let mine = ConflictSide(
                entity: row?.json, instant: change.instant,
                device: try transaction.inbox.maker(of: change.key, in: schema, at: change.instant)?.sender ?? ledger.device)
            let theirs = ConflictSide(entity: entity?.json, instant: one.versionInstant, device: ledger.author)
            let (loser, winner) = one.loser == .here ? (mine, theirs) : (theirs, mine)
            try ledger.recordConflict(
                Conflict(dataset: schema.name, key: change.key, reason: one.reason, loser: loser, winner: winner), in: transaction)
        }
    }
}

extension ConflictRecorder {
    /// Whether a row has a value in an unseen column that differs from the version's value.
    private func giveWay(_ row: String?, to entity: String?) -> Bool {
        func members(_ text: String?) -> [String: Any] {
            text.flatMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) } as? [String: Any] ?? [:]
        }
        let mine = members(row), theirs = members(entity)
        return unseen.contains { index in
            let name = schema.columns[index].name
            guard let one = mine[name] as? NSObject, let other = theirs[name] as? NSObject else { return false }
            return !one.isEqual(other)
        }
    }
}

/// Decides whether two states of an entity differ in more than what each device sets automatically.
///
/// The timestamp column does not count, because it only says when. Two devices that mark one notification as read at different times agree.
struct EntityComparison {
    private let schema: DatasetSchema
    private let patched: [Int]
    /// The patched columns in which only the presence of a value counts.
    private let marks: Set<Int>
    private let ignored: [Int]

    /// - Parameter ignored: the positions of further columns whose differences do not count.
    init(_ schema: DatasetSchema, ignoring ignored: [Int] = []) {
        self.schema = schema
        self.ignored = ignored
        patched = schema.messageRules?.patched ?? []
        marks = Set(schema.markColumns)
    }

    /// Returns a sink that keeps what ``differ(_:_:onlyMarked:)`` compares, and JSON that carries every value.
    func copies(isWanted: @escaping (EntityKey) -> Bool = { _ in true }) -> EntityCopies {
        EntityCopies(schema: schema, masking: [schema.timestampIndex].compactMap(\.self) + patched + ignored, writing: schema.withoutShapes, isWanted: isWanted)
    }

    /// Whether two states differ; nil stands for a deletion.
    ///
    /// - Parameters:
    ///   - onlyMarked: whether one side changed only the columns that a message can patch, so that the rest of that side is no edit.
    ///   - isMarkKept: whether the patched columns of both sides are kept.
    func differ(_ one: EntityCopy?, _ other: EntityCopy?, onlyMarked: Bool = false, isMarkKept: Bool = false) -> Bool {
        guard let one, let other else { return one != nil || other != nil }
        if !isMarkKept, patched.contains(where: { !ignored.contains($0) && differ(one.values[$0], other.values[$0], isMark: marks.contains($0)) }) {
            return true
        }
        return !(onlyMarked && !patched.isEmpty) && one.rest != other.rest
    }

    private func differ(_ one: OwnedValue?, _ other: OwnedValue?, isMark: Bool) -> Bool {
        isMark ? (one ?? .null == .null) != (other ?? .null == .null) : one ?? .null != other ?? .null
    }
}
