import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
package import SnapshotModel
public import SnapshotVersions
import StrictText
import SyncRuns

/// Compares two versions, or a version with this database's rows, entity by entity.
///
/// Runs with the same hash on both sides are skipped without reading them; all others are merged in key order. Memory: a few runs.
struct VersionDiff: Sendable {
    let inspector: SnapshotInspector
    let dataset: String?
    let hasValues: Bool

    /// Receives the differences. The worker's thread calls it, one call at a time, while the caller waits.
    private typealias Take = (EntityDifference) throws -> Void

    /// Compares the two sides and reports each difference, in the order of datasets and keys.
    func run(_ left: DiffSide, _ right: DiffSide, take: @escaping (EntityDifference) throws -> Void) async throws -> DiffReport {
        switch (left, right) {
        case (.local, .local): throw SyncError(.refused, step: .read, at: "diff", "the local tables are always the same as themselves", hint: "name a version")
        case (.version(let left), .version(let right)):
            let before = try await inspector.records(at: left), after = try await inspector.records(at: right)
            for state in [before, after] { try inspector.refuseSealed(state) }
            return try await versions(before, after, take: take)
        case (.version(let number), .local): return try await local(number, isFlipped: false, take)
        case (.local, .version(let number)): return try await local(number, isFlipped: true, take)
        }
    }

    private func versions(_ before: ZoneState, _ after: ZoneState, take: @escaping Take) async throws -> DiffReport {
        var counts: [DiffReport.Dataset] = []
        let records = Dictionary(
            (before.records + after.records).filter { DatasetRecord($0) != nil }.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var isKnown = dataset == nil
        // Most records are named for their dataset. Only if none is, open the others to find it.
        let likely = dataset.map { wanted in records.keys.filter { $0 == wanted || $0 == "\(wanted)_data" } } ?? []
        for name in likely.sorted() + records.keys.filter({ !likely.contains($0) }).sorted() {
            if dataset != nil, isKnown { break }
            var left: DatasetVersion?, right: DatasetVersion?
            if let record = before.record(name) { left = try await open(record) }
            if let record = after.record(name) { right = try await open(record) }
            let schema = try Self.common(left?.schema, right?.schema)
            if let dataset, ![schema.name, name].contains(dataset) { continue }
            isKnown = true
            let one = left?.giving(schema), other = right?.giving(schema)
            counts.append(try merge(of: schema, one, other, take: take))
        }
        guard isKnown else { throw missing(after) }
        return DiffReport(datasets: counts)
    }

    private func merge(of schema: DatasetSchema, _ left: DatasetVersion?, _ right: DatasetVersion?, take: @escaping Take) throws -> DiffReport.Dataset {
        let counter = DifferenceCounter(schema, isFlipped: false, hasValues: hasValues, take)
        return counter.count(unchanged: try DatasetVersion.compare(left, right, by: schema, differ: counter.take))
    }

    private func local(_ number: Int, isFlipped: Bool, _ take: @escaping Take) async throws -> DiffReport {
        guard let context = inspector.context else {
            throw SyncError(.refused, step: .read, at: "diff", "local needs a database", hint: "give the database instead of the location").asSlip
        }
        let state = try await inspector.records(at: number)
        let schemas = context.settings.datasets.filter { dataset == nil || $0.name == dataset }
        guard !schemas.isEmpty else { throw missing(state) }
        let session = try ReadSession(context.database, readers: WorkerThreads.count)
        defer { session.end() }
        var counts: [DiffReport.Dataset] = []
        for schema in schemas {
            var version: DatasetVersion?
            if let record = state.record(schema.recordName) {
                version = try await DatasetVersion(record, as: schema.relaxed(), in: inspector.cloud, zone: inspector.zone)
            }
            let found = version
            counts.append(try compare(schema, found, in: session, isFlipped: isFlipped, take: take))
        }
        return DiffReport(datasets: counts)
    }

    private func compare(_ schema: DatasetSchema, _ version: DatasetVersion?, in session: ReadSession, isFlipped: Bool, take: @escaping Take) throws
        -> DiffReport.Dataset
    {
        let runs = try version?.differingRuns(from: session, of: schema) ?? []
        let ranges = version.map { version in runs.map(version.range) } ?? [KeyRange(number: 0, first: nil, next: nil)]
        let counter = DifferenceCounter(schema, isFlipped: isFlipped, hasValues: hasValues, take)
        let cursor = version?.cursor(runs)
        let merge = EntityMerge(schema: schema, left: { try cursor?.next() }, counter.take)
        try session.withReader(0) { reader in
            let rows = reader.ranges(of: schema)
            for range in ranges { try rows.read(range, into: merge) }
        }
        try merge.finish()
        let all = try version?.runs() ?? []
        let skipped = Set(all.indices).subtracting(runs).reduce(0) { $0 + all[$1].count }
        return counter.count(unchanged: merge.equalCount + skipped)
    }

    private func open(_ record: CloudRecord) async throws -> DatasetVersion {
        try await DatasetVersion(record, in: inspector.cloud, zone: inspector.zone)
    }

    private func missing(_ state: ZoneState) -> SyncError {
        SyncError(
            .nothingThere, step: .fetch, at: inspector.zone.place, "neither side has a dataset \(dataset ?? "")",
            hint: "the records are \(state.records.filter { !$0.isOfVersions }.map(\.name).joined(separator: ", "))")
    }

    /// A schema that can decode the entities of both versions: it has every column of either, all optional but the key.
    private static func common(_ left: DatasetSchema?, _ right: DatasetSchema?) throws -> DatasetSchema {
        guard let right = right ?? left, let left = left ?? right as DatasetSchema? else {
            throw SyncError(.nothingThere, step: .read, at: "diff", "neither version has the dataset")
        }
        if left == right { return right }
        guard left.keyColumns.map(\.name.exact) == right.keyColumns.map(\.name.exact), left.keyShape.isComparable(with: right.keyShape) else {
            throw SyncError(
                .refused, step: .read, at: "dataset \(right.name)", "the two versions have different keys and cannot be compared",
                hint: "compare versions from after the key was changed")
        }
        let known = Set(right.columns.map(\.name))
        if let column = left.columns.first(where: { column in right.columns.contains { $0.name == column.name && $0.shape != column.shape } }) {
            throw SyncError(
                .refused, step: .read, at: "dataset \(right.name)", "the column \(column.name) is declared differently in one of the versions",
                hint: "compare versions from after that was changed")
        }
        return try right.relaxed(adding: left.columns.filter { !known.contains($0.name) })
    }
}

extension DatasetVersion {
    /// Reports each entity that differs between two versions, which one schema reads, in key order. Runs that are equal are not read.
    ///
    /// - Returns: how many entities are equal.
    package static func compare(
        _ left: DatasetVersion?, _ right: DatasetVersion?, by schema: DatasetSchema, differ: @escaping EntityMerge.Difference
    ) throws -> Int {
        let before = try left?.runs() ?? [], after = try right?.runs() ?? []
        let common = Set(before.filter { $0.hash != nil }).intersection(after)
        let cursor = left?.cursor(before.indices.filter { !common.contains(before[$0]) })
        let merge = EntityMerge(schema: schema, left: { try cursor?.next() }, differ)
        try right?.read(after.indices.filter { !common.contains(after[$0]) }) { try $0.send(to: merge) }
        try merge.finish()
        return merge.equalCount + common.reduce(0) { $0 + $1.count }
    }
}

extension DatasetSchema {
    /// The same dataset with every column but the key optional, so that entities of versions that lack some can be read.
    package func relaxed(adding others: [DatasetColumn] = []) throws -> DatasetSchema {
        try with(
            columns: (columns + others).enumerated().map { index, column in
                DatasetColumn(
                    column.name, column.shape, column: column.column, isOptional: !keyIndices.contains(index), collation: column.collation)
            })
    }
}

extension SnapshotInspector {
    /// Compares two versions, or one with this database's rows, and reports each entity that differs, in key order.
    ///
    /// - Parameters:
    ///   - dataset: the only dataset to compare; nil for all.
    ///   - hasValues: whether to report the differing values, too.
    public func diff(
        _ left: DiffSide, _ right: DiffSide, dataset: String? = nil, hasValues: Bool = false, take: @escaping (EntityDifference) throws -> Void
    ) async throws -> DiffReport {
        try await WorkerThreads.host { try await VersionDiff(inspector: self, dataset: dataset, hasValues: hasValues).run(left, right, take: take) }
    }
}

/// One side of a comparison.
public enum DiffSide: Sendable, Hashable, CustomStringConvertible {
    /// A kept or pinned version of the zone.
    case version(Int)
    /// The rows of this database.
    case local

    public var description: String {
        switch self {
        case .version(let number): "version \(number)"
        case .local: "the local tables"
        }
    }
}

/// One entity that differs between two versions.
public struct EntityDifference: Sendable, Encodable {
    /// How the entity changed from the first side to the second.
    public enum Kind: String, Sendable, Encodable, CaseIterable {
        case added, changed, removed
    }

    /// One column that differs, with its values formatted for people.
    public struct Column: Sendable, Encodable {
        public let name: String
        public let before: String
        public let after: String

        package init(_ name: String, _ before: OwnedValue, after: OwnedValue) {
            (self.name, self.before, self.after) = (name, before.description, after.description)
        }
    }

    public let dataset: String
    public let change: Kind
    /// The entity's key.
    public let key: ReportedKey
    /// The names of the columns that differ; empty if one side lacks the entity.
    public let columns: [String]
    /// The values of these columns on both sides; nil unless values were requested.
    public let values: [Column]?
    let before: [String: OwnedValue]?
    let after: [String: OwnedValue]?

    enum CodingKeys: String, CodingKey {
        case dataset, change, key, columns, before, after
    }
}

/// The number of differences between two versions.
public struct DiffReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let dataset: String
        public let added: Int
        public let changed: Int
        public let removed: Int
        public let unchanged: Int
    }

    public let datasets: [Dataset]

    /// Whether the two sides are equal.
    public var isSame: Bool { datasets.allSatisfy { $0.added + $0.changed + $0.removed == 0 } }
}

/// Counts the differences of one dataset and reports each as an ``EntityDifference``.
final class DifferenceCounter {
    private let schema: DatasetSchema
    private let isFlipped: Bool
    private let hasValues: Bool
    private let give: (EntityDifference) throws -> Void
    private var counts: [EntityDifference.Kind: Int] = [:]

    /// - Parameter isFlipped: whether the left side here is the second side for the user.
    init(_ schema: DatasetSchema, isFlipped: Bool, hasValues: Bool, _ give: @escaping (EntityDifference) throws -> Void) {
        (self.schema, self.isFlipped, self.hasValues, self.give) = (schema, isFlipped, hasValues, give)
    }

    /// Counts and reports one difference.
    func take(_ key: EntityKey, left: [OwnedValue]?, right: [OwnedValue]?) throws {
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
                    ? shown.map { .init(schema.columns[$0].name, before?[$0] ?? .null, after: after?[$0] ?? .null) }
                    : nil,
                before: values(before), after: values(after)))
    }

    func count(unchanged: Int) -> DiffReport.Dataset {
        DiffReport.Dataset(
            dataset: schema.name, added: counts[.added] ?? 0, changed: counts[.changed] ?? 0, removed: counts[.removed] ?? 0, unchanged: unchanged)
    }
}
