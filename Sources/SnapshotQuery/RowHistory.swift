import CloudStore
import LocalTables
import SnapshotFormat
import SnapshotModel
public import SnapshotTools
public import SnapshotVersions
import StrictText

/// The kept versions that changed one row.
public struct RowHistoryReport: Sendable, Encodable {
    /// One change of the row.
    public struct Change: Sendable, Encodable {
        public let version: Int
        /// When the version was made.
        public let timestamp: String
        /// The device that published the version.
        public let device: String
        /// How the row changed. `added` has its first values, and `removed` its last.
        public let change: EntityDifference.Kind
        /// The columns that changed, with their values before and after it, formatted for people.
        public let columns: [EntityDifference.Column]
    }

    public let table: String
    public let key: ReportedKey
    /// Newest first.
    public let changes: [Change]
    /// Earlier versions were pruned, so the row may have changed before this version; nil if version 1 is kept.
    public let oldestVersion: Int?
}

/// Follows one row back through the versions.
///
/// A version is looked into only if its change asset names the row, or if the block for its key differs from the version before. Memory: the
/// commits, and the change assets of ``width`` versions.
struct RowHistory {
    let inspector: SnapshotInspector
    let table: VersionTable

    /// How many versions are examined at once.
    private static let width = 32

    /// A version that saved or deleted the dataset, and the record before it.
    private struct Step: Sendable {
        let commit: Commit
        let record: CloudRecord?
        let before: CloudRecord?
    }

    func changes(of key: EntityKey, limit: Int?) async throws -> (changes: [RowHistoryReport.Change], oldest: Int?) {
        let commits = try await inspector.cloud.history(in: inspector.zone)
        let oldest = commits.first.map(\.token.number).flatMap { $0 > 1 ? $0 : nil }
        var steps: [Step] = [], last: CloudRecord?
        if let oldest { last = try await inspector.records(at: oldest).record(table.record.name) }
        for commit in oldest == nil ? commits[...] : commits.dropFirst() {
            let saved = commit.saved.first { $0.name == table.record.name }
            guard saved != nil || commit.deleted.contains(table.record.name) else { continue }
            if saved == nil, let before = last, try await !hasKey(version(before)) {
                steps = []
            } else {
                steps.append(Step(commit: commit, record: saved, before: last))
            }
            last = saved
        }
        // Between the steps that touch the row, it is the same.
        var changes: [RowHistoryReport.Change] = [], rest = steps[...], after = try await values(of: key, in: last)
        while !rest.isEmpty, changes.count < limit ?? .max {
            let part = Array(rest.suffix(Self.width).reversed())
            rest.removeLast(part.count)
            for (step, before) in try await touching(key, part) where changes.count < limit ?? .max {
                if before != after { changes.append(change(step, from: before, to: after)) }
                after = before
            }
        }
        return (changes, oldest)
    }

    /// Whether a version has the table's key. A dataset that returns with another key has other rows.
    private func hasKey(_ version: DatasetVersion) -> Bool {
        version.schema.keyColumns.elementsEqual(table.schema.keyColumns) { $0.name.exact == $1.name.exact && $0.collation == $1.collation }
    }

    /// The steps that may have changed the row, in their order, each with the row's values before it.
    private func touching(_ key: EntityKey, _ steps: [Step]) async throws -> [(step: Step, before: [OwnedValue]?)] {
        var found: [Int: [OwnedValue]?] = [:]
        try await withThrowingTaskGroup(of: (number: Int, before: [OwnedValue]?)?.self) { group in
            for (number, step) in steps.enumerated() {
                group.addTask { try await isTouched(key, step) ? (number, values(of: key, in: step.before)) : nil }
            }
            for try await case let (number, before)? in group { found[number] = .some(before) }
        }
        return found.sorted { $0.key < $1.key }.map { (steps[$0.key], $0.value) }
    }

    private func isTouched(_ key: EntityKey, _ step: Step) async throws -> Bool {
        guard let record = step.record, let before = step.before else { return true }
        if let changes = try await ChangeAsset(of: record, in: step.commit, after: before, schema: table.schema, inspector) {
            return try changes.read(table.schema).keys.contains(key)
        }
        guard let run = try await version(record).run(of: key), run.hash != nil else { return true }
        return try await version(before).run(of: key) != run
    }

    private func change(_ step: Step, from before: [OwnedValue]?, to after: [OwnedValue]?) -> RowHistoryReport.Change {
        let columns = table.schema.columns.indices.filter { before?[$0] ?? .null != after?[$0] ?? .null }
        return RowHistoryReport.Change(
            version: step.commit.token.number, timestamp: step.commit.timestamp.description, device: step.commit.device,
            change: before == nil ? .added : after == nil ? .removed : .changed,
            columns: columns.map { .init(table.schema.columns[$0].column, before?[$0] ?? .null, after: after?[$0] ?? .null) })
    }

    private func version(_ record: CloudRecord) async throws -> DatasetVersion {
        try await DatasetVersion(record, in: inspector.cloud, zone: inspector.zone)
    }

    private func values(of key: EntityKey, in record: CloudRecord?) async throws -> [OwnedValue]? {
        guard let record else { return nil }
        let table = VersionTable(record, readBy: table)
        try await table.open()
        return try table.values(of: key)
    }
}

extension DatasetVersion {
    /// The run that a key belongs to.
    fileprivate func run(of key: EntityKey) throws -> Run? {
        let runs = try runs()
        return runs.indices.last { range(of: $0).first.map { !(key < $0) } ?? true }.map { runs[$0] }
    }
}

extension ChangeAsset {
    /// The change asset with which a commit saved a record; nil if it saved a snapshot asset alone.
    init?(of record: CloudRecord, in commit: Commit, after before: CloudRecord?, schema: DatasetSchema, _ inspector: SnapshotInspector) async throws {
        guard let fields = DatasetRecord(record), let file = fields.step, AssetPath(file.path)?.number == commit.token.number else { return nil }
        let after = fields.chain.last?.after ?? before.flatMap(DatasetRecord.init)?.end
        try await self.init(file, after: after, dataset: schema.name, in: inspector.cloud, zone: inspector.zone)
    }
}

extension SnapshotInspector {
    /// The kept versions that changed one row, newest first.
    ///
    /// - Parameters:
    ///   - table: the name of the table or of the dataset, as the newest version has it.
    ///   - words: the values of the key's columns as texts.
    ///   - limit: how many changes at most; nil for all.
    /// - Throws: ``SyncError`` with `.nothingThere` if the newest version has no such table, or no kept version such a row.
    public func history(of table: String, key words: [String], limit: Int? = nil) async throws -> RowHistoryReport {
        try await WorkerThreads.host {
            let newest = try await database(), found = try newest.table(table)
            for key in try found.keys(words) {
                let (changes, oldest) = try await RowHistory(inspector: self, table: found).changes(of: key, limit: limit)
                try await found.open()
                let isThere = try found.values(of: key) != nil
                guard isThere || !changes.isEmpty else { continue }
                return RowHistoryReport(table: found.schema.table, key: ReportedKey(key), changes: changes, oldestVersion: oldest)
            }
            throw SyncError(
                .nothingThere, step: .read, at: "table \(found.schema.table)", "no kept version has a row with the key \(words.joined(separator: ", "))",
                hint: "snapsync log lists the versions that are kept")
        }
    }
}
