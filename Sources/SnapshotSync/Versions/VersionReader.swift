import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// One dataset as of one version: its entities in key order, in runs that can be compared without reading them.
///
///     let version = try await VersionReader(record, as: schema, in: cloud, zone: zone)
///     try version.read(version.runs.indices) { number, block in try block.give(to: sink) }
///
/// Who compares or restores versions knows no assets, only this. Memory: a few runs.
struct VersionReader: Sendable {
    /// A run of consecutive entities. Two runs with one first key, count and hash are the same entities.
    struct Run: Hashable, Sendable {
        let firstKey: EntityKey
        let count: Int
        let hash: SnapshotFormat.ContentHash
    }

    /// `notifications@42`, for errors.
    let place: String
    /// What entities are given as.
    let schema: DatasetSchema
    private let asset: SnapshotAsset

    /// Opens the dataset that a record carries.
    ///
    /// - Parameter schema: what the entities are given as, if not as the version itself describes them.
    init(_ record: CloudRecord, as schema: DatasetSchema? = nil, in cloud: any CloudDatabase, zone: ZoneID) async throws {
        asset = try await SnapshotAsset(of: record, dataset: schema?.name, in: cloud, zone: zone)
        place = asset.place
        self.schema = try schema ?? asset.step(.verify) { [asset] in try asset.index.schema(table: asset.index.dataset) }
    }

    private init(_ asset: SnapshotAsset, _ schema: DatasetSchema) {
        self.asset = asset
        place = asset.place
        self.schema = schema
    }

    /// The same version with its entities given as another schema describes them.
    func giving(_ schema: DatasetSchema) -> VersionReader { VersionReader(asset, schema) }

    /// How many entities the version has.
    var recordCount: Int { asset.index.recordCount }

    /// The entities, cut into runs.
    var runs: [Run] { asset.index.blocks.map { Run(firstKey: $0.firstKey, count: $0.count, hash: $0.member.rawSHA256) } }

    /// The keys that belong to each run: together all there can be. A version without entities has one range, which is everything.
    var ranges: [KeyRange] {
        runs.isEmpty ? [KeyRange(number: 0, first: nil, next: nil)] : asset.index.blocks.indices.map { BlockComparison.range(ofBlock: $0, in: asset.index) }
    }

    /// Reads runs, in ascending order, on all cores.
    func read(_ runs: [Int], take: (Int, EntityBlock) throws -> Void) throws {
        try BlockPipeline(asset: asset, blocks: runs, workerCount: WorkerThreads.count).run(.entities(schema), take: take)
    }

    /// Returns what reads runs one at a time, when asked.
    func cursor(_ runs: [Int]) throws -> VersionCursor { try VersionCursor(asset, runs, schema) }

    /// The runs that differ from the rows of a table, found by hashing the rows.
    ///
    /// - Parameter session: connections on the state to look at.
    func differingRuns(from session: ReadSession, of table: DatasetSchema) throws -> [Int] {
        guard asset.index.describes(table) else { return Array(runs.indices) }
        return try SyncError.at(.read) { try BlockComparison(schema: table, index: asset.index, session: session).allDifferences() }
    }

    /// Hands over the version's tombstones and the instants that differ from the entities' own timestamps.
    func readTail(deletion: (EntityKey, Instant) throws -> Void, instant: (EntityKey, Instant) throws -> Void) throws {
        let tail = try asset.readMember(asset.index.tail, name: "tail")
        _ = try asset.step(.verify) { try tail.withBytes { try SnapshotTail.read($0, keyKind: asset.index.keyKind, deletion: deletion, instant: instant) } }
    }

    /// When the version was made, as its container says.
    var syncTimestamp: Instant { asset.fields.syncTimestamp }
}
