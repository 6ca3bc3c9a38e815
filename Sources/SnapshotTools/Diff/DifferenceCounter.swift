import SnapshotModel
import SnapshotVersions

/// Counts the differences of one dataset and reports each as an ``EntityDifference``.
final class DifferenceCounter {
    private let schema: DatasetSchema
    private let isFlipped: Bool
    private let hasValues: Bool
    private let give: (EntityDifference) throws -> Void
    private var counts: [EntityDifference.Kind: Int] = [:]

    /// - Parameter isFlipped: whether the left side here is the second side for the user.
    init(_ schema: DatasetSchema, isFlipped: Bool, hasValues: Bool, _ give: @escaping (EntityDifference) throws -> Void) {
        self.schema = schema
        self.isFlipped = isFlipped
        self.hasValues = hasValues
        self.give = give
    }

    /// Counts and reports one difference.
    func take(_ key: EntityKey, _ left: [OwnedValue]?, _ right: [OwnedValue]?) throws {
        let (before, after) = isFlipped ? (right, left) : (left, right)
        let kind: EntityDifference.Kind = before == nil ? .added : after == nil ? .removed : .changed
        counts[kind, default: 0] += 1
        let differing = schema.columns.indices.filter { before?[$0] ?? .null != after?[$0] ?? .null }
        let shown = hasValues ? differing : []
        func values(_ all: [OwnedValue]?) -> [String: OwnedValue]? {
            guard hasValues, let all else { return nil }
            // JSON's encoder has one member for names that are canonically equal.
            return Dictionary(shown.map { (schema.columns[$0].name, all[$0]) }, uniquingKeysWith: { first, _ in first })
        }
        try give(
            EntityDifference(
                dataset: schema.name, change: kind, key: ReportedKey(key), columns: kind == .changed ? differing.map { schema.columns[$0].name } : [],
                values: hasValues
                    ? shown.map { .init(name: schema.columns[$0].name, before: (before?[$0] ?? .null).description, after: (after?[$0] ?? .null).description) }
                    : nil,
                before: values(before), after: values(after)))
    }

    /// The counts.
    func count(unchanged: Int) -> DiffReport.Dataset {
        DiffReport.Dataset(
            dataset: schema.name, added: counts[.added] ?? 0, changed: counts[.changed] ?? 0, removed: counts[.removed] ?? 0, unchanged: unchanged)
    }
}
