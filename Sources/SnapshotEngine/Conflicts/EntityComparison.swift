import SnapshotFormat
import SnapshotModel

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
