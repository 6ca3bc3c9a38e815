import CloudStore
import SnapshotFormat
import SnapshotModel
public import SnapshotTools
public import SnapshotVersions
public import StrictText

/// What a feed passes on: each change of a version, and then the version.
public enum FeedEvent: Sendable, Encodable {
    case change(RowChange)
    case version(FeedVersion)

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .change(let change): try change.encode(to: encoder)
        case .version(let version): try version.encode(to: encoder)
        }
    }
}

/// One row that a version changed.
public struct RowChange: Sendable, Encodable {
    public let version: Int
    public let table: String
    public let key: ReportedKey
    public let change: EntityDifference.Kind
    /// The columns that changed; empty if the row was added or removed.
    public let columns: [String]
    /// When the row was changed, where the version states that; otherwise when the version was made.
    public let instant: Instant
    /// The device that published the version.
    public let device: String
}

/// The end of a version's changes: a program that has received it resumes from this version.
public struct FeedVersion: Sendable, Encodable {
    public let version: Int
    /// When the version was made.
    public let timestamp: Instant
    public let device: String
    /// How many changes the version has.
    public let changes: Int
}

/// Passes on the changes of each version after another, in order and exactly once.
///
/// A change asset has the changes of its version; only for keys that it has whole, the blocks of the version before are looked into. Without one, the
/// blocks that differ are compared. Memory: the changes of a change asset, or a few blocks.
struct ChangeFeed {
    let inspector: SnapshotInspector
    let take: (FeedEvent) throws -> Void
    /// The last version that was passed on; nil before the first.
    private(set) var token: ChangeToken?
    /// The records of that version.
    private var records: [ExactText: CloudRecord] = [:]
    /// The descriptions among them.
    private var described: [DatasetDescription] = []

    /// Begins after a version; 0 begins before the first.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the version does not exist or was pruned, so that changes would be missing.
    init(_ inspector: SnapshotInspector, since version: Int, take: @escaping (FeedEvent) throws -> Void) async throws {
        (self.inspector, self.take) = (inspector, take)
        guard version > 0 else { return }
        do {
            let state = try await inspector.cloud.records(in: inspector.zone, at: version, notBefore: nil)
            try inspector.refuseSealed(state)
            token = state.token
            records = Dictionary(state.records.map { ($0.name.exact, $0) }, uniquingKeysWith: { $1 })
            described = try state.descriptions(in: inspector.zone)
        } catch let error as CloudError where error.code == .unknownItem {
            throw try await inspector.missingStart(version)
        }
    }

    /// Passes on the versions that follow, up to a number.
    mutating func run(upTo last: Int = .max) async throws {
        for commit in try await commits() where commit.token.number <= last {
            try inspector.refuseSealed(ZoneState(records: commit.saved, token: nil, timestamp: nil))
            var count = 0
            let before = records
            for record in commit.saved { records[record.name.exact] = record }
            if commit.saved.contains(where: DatasetDescription.isRecord) {
                described = try ZoneState(records: Array(records.values), token: commit.token, timestamp: nil).descriptions(in: inspector.zone)
            }
            for record in commit.saved.sorted(by: { $0.name.exact < $1.name.exact }) where DatasetRecord(record) != nil {
                count += try await changes(to: record, from: before[record.name.exact], in: commit)
            }
            for name in commit.deleted {
                guard let before = records.removeValue(forKey: name.exact), DatasetRecord(before) != nil else { continue }
                count += try await changes(to: nil, from: before, in: commit)
            }
            token = commit.token
            try take(.version(FeedVersion(version: commit.token.number, timestamp: commit.timestamp, device: commit.device, changes: count)))
        }
    }

    private func commits() async throws -> [Commit] {
        do {
            if let token { return try await inspector.cloud.changes(since: token, in: inspector.zone).commits }
            let commits = try await inspector.cloud.history(in: inspector.zone)
            guard commits.first?.token.number ?? 1 == 1 else { throw try await inspector.missingStart(0) }
            return commits
        } catch let error as CloudError where error.code == .changeTokenExpired {
            throw try await inspector.missingStart(token?.number ?? 0)
        }
    }

    /// Passes on what a commit changed in a dataset. Returns the number of changes.
    private func changes(to record: CloudRecord?, from before: CloudRecord?, in commit: Commit) async throws -> Int {
        guard let present = record ?? before else { return 0 }
        let description = described.first { $0.schema.recordName.exact == present.name.exact }
        let table = try await VersionTable(present, description, in: inspector.cloud, zone: inspector.zone)
        let earlier = before.map { VersionTable($0, readBy: table) }
        var count = 0
        func pass(_ key: EntityKey, from left: [OwnedValue]?, to right: [OwnedValue]?, columns: Set<Int>? = nil, at instant: Instant?) throws {
            let kind: EntityDifference.Kind = columns != nil ? .changed : left == nil ? .added : right == nil ? .removed : .changed
            let changed = kind == .changed ? table.schema.columns.indices.filter { columns?.contains($0) ?? (left?[$0] != right?[$0]) } : []
            count += 1
            try take(
                .change(
                    RowChange(
                        version: commit.token.number, table: table.schema.table, key: ReportedKey(key), change: kind,
                        columns: changed.map { table.schema.columns[$0].column }, instant: instant ?? commit.timestamp, device: commit.device)))
        }
        if let record, let earlier, let asset = try await ChangeAsset(of: record, in: commit, after: before, schema: table.schema, inspector) {
            let set = try asset.read(table.schema), whole = OwnedEntities(schema: table.schema), own = OwnInstants(schema: table.schema)
            try set.entities.send(to: whole)
            try set.entities.send(to: own)
            let values = Dictionary(uniqueKeysWithValues: whole.all.map { ($0.key, $0.values) })
            let deleted = Dictionary(set.deletions.map { ($0.key, $0.instant) }, uniquingKeysWith: { first, _ in first })
            for key in set.keys.sorted() {
                let instant = deleted[key] ?? set.instants[key].map { $0.latest(own: own.instants[key]) } ?? own.instants[key]
                if let columns = set.partial[key] {
                    try pass(key, from: nil, to: nil, columns: columns, at: instant)
                    continue
                }
                try await earlier.open()
                let left = try earlier.values(of: key), right = values[key]
                if left != right { try pass(key, from: left, to: right, at: instant) }
            }
        } else {
            let right = record == nil ? nil : table
            try await earlier?.open()
            try await right?.open()
            let instants = try right?.instants() ?? [:], rowInstant = RowInstant(table.schema)
            _ = try DatasetVersion.compare(earlier?.version, right?.version, by: table.schema) { key, left, right in
                let own = right?.lending { rowInstant?.instant(in: $0) } ?? nil
                try pass(key, from: left, to: right, at: instants[key].map { $0.latest(own: own) } ?? own)
            }
        }
        return count
    }
}

extension SnapshotInspector {
    /// Passes on each change of the versions after one, in order and exactly once, and after the changes of a version the version.
    ///
    ///     try await inspector.changes(since: last) { event in … }
    ///
    /// - Parameters:
    ///   - version: the last version whose changes are known; 0 for none.
    ///   - last: the last version to pass on; nil for the newest.
    ///   - poll: how often to look for new versions without an event, until the task is cancelled; nil to end at the newest version.
    /// - Throws: ``SyncError`` with `.nothingThere` if the version does not exist or was pruned, `.dataRefused` if a file is damaged.
    public func changes(since version: Int, upTo last: Int? = nil, following poll: Duration? = nil, take: @escaping (FeedEvent) throws -> Void) async throws {
        try await WorkerThreads.host {
            var feed = try await ChangeFeed(self, since: version, take: take)
            let wait = poll.map { ZoneWait(for: zone, of: cloud, every: $0) }
            repeat { try await feed.run(upTo: last ?? .max) } while await wait?.next() ?? false
        }
    }

    /// The error for a feed that cannot begin where it was told to.
    fileprivate func missingStart(_ version: Int) async throws -> SyncError {
        let oldest = try await cloud.history(in: zone)
        let place = "version \(version) of \(zone.place)"
        guard let first = oldest.first?.token.number, let newest = oldest.last?.token.number else {
            return SyncError(.nothingThere, step: .fetch, at: place, "nothing has been published yet", hint: "run snapsync sync on a device that publishes")
        }
        guard version <= newest else {
            return SyncError(
                .nothingThere, step: .fetch, at: place, "there is no such version yet; the newest is \(newest)",
                hint: "snapsync changes \(location.shellWord) --since \(newest)")
        }
        return SyncError(
            .nothingThere, step: .fetch, at: place, "it was pruned, so changes after it are missing; the oldest version is \(first)",
            hint: "read the tables of version \(newest), then begin at it: snapsync changes \(location.shellWord) --since \(newest)")
    }
}
