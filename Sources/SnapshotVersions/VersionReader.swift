package import CloudStore
package import LocalStore
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// One dataset as of one version: its entities in key order, in runs that can be compared without reading them.
///
///     let version = try await VersionReader(record, as: schema, in: cloud, zone: zone)
///     try version.read(version.runs.indices.map(\.self)) { run in try run.give(to: sink) }
///
/// Who compares or restores versions knows no assets, only this. The runs are the blocks of the snapshot asset, with what the
/// change assets after it say of their ranges. Memory: a few runs, and the changes.
package struct VersionReader: Sendable {
    /// A run of consecutive entities, of which there is always at least one.
    package struct Run: Hashable, Sendable {
        let firstKey: EntityKey?
        package let count: Int
        /// Two runs with one first key and hash are the same entities; nil where that is not known.
        package let hash: SnapshotFormat.ContentHash?
    }

    /// A run that was read, lent for the length of a call.
    package struct Entities {
        package let number: Int
        /// Fields in the JSON that the schema does not have.
        package let unknownFields: Set<String>
        fileprivate let body: (any EntitySink) throws -> Void

        /// Gives the run's entities, in key order.
        package func give(to sink: any EntitySink) throws { try body(sink) }
    }

    /// `notifications@42`, for errors.
    package let place: String
    /// What entities are given as.
    package let schema: DatasetSchema
    /// The entities, cut into runs.
    package let runs: [Run]
    private let asset: SnapshotAsset
    private let changes: [ChangeAsset]
    private let overlay: LentOverlay

    /// Opens the dataset that a record carries.
    ///
    /// - Parameter schema: what the entities are given as, if not as the version itself describes them.
    package init(_ record: CloudRecord, as schema: DatasetSchema? = nil, in cloud: any CloudDatabase, zone: ZoneID) async throws {
        let asset = try await SnapshotAsset(of: record, dataset: schema?.name, in: cloud, zone: zone)
        let changes = try await ChangeAsset.open(asset.fields.changeFiles, dataset: asset.index.dataset, in: cloud, zone: zone)
        let described = try schema ?? asset.step(.verify) { try asset.index.schema(table: asset.index.dataset) }
        try await self.init(asset, changes, described)
    }

    private init(_ asset: SnapshotAsset, _ changes: [ChangeAsset], _ schema: DatasetSchema) async throws {
        self.asset = asset
        self.changes = changes
        self.schema = schema
        place = asset.place
        let overlay = try await WorkerThreads.run { LentOverlay(try ChangeOverlay(reading: changes, schema)) }
        self.overlay = overlay
        let blocks = asset.index.blocks
        runs =
            blocks.isEmpty
            ? [Run(firstKey: nil, count: 0, hash: nil)]
            : blocks.indices.map { number in
                let range = BlockComparison.range(ofBlock: number, in: asset.index)
                let isTouched = !overlay.changes.keys(from: range.first, upTo: range.next).isEmpty
                return Run(firstKey: blocks[number].firstKey, count: blocks[number].count, hash: isTouched ? nil : blocks[number].member.rawSHA256)
            }
    }

    /// The same version with its entities given as another schema describes them.
    package func giving(_ schema: DatasetSchema) async throws -> VersionReader {
        schema == self.schema ? self : try await VersionReader(asset, changes, schema)
    }

    /// How many entities the version has.
    package var recordCount: Int { asset.fields.recordCount }

    /// What its record says.
    package var fields: DatasetRecord { asset.fields }

    /// The keys that belong to a run; the runs' ranges together are all keys there can be.
    package func range(of run: Int) -> KeyRange {
        asset.index.blocks.isEmpty ? KeyRange(number: 0, first: nil, next: nil) : BlockComparison.range(ofBlock: run, in: asset.index)
    }

    /// Reads runs, in ascending order, on all cores.
    package func read(_ runs: [Int], take: (Entities) throws -> Void) throws {
        guard !asset.index.blocks.isEmpty else {
            guard !runs.isEmpty else { return }
            return try take(entities(nil, 0))
        }
        try BlockPipeline(asset: asset, blocks: runs, workerCount: WorkerThreads.count).run(.entities(schema)) { try take(entities($1, $0)) }
    }

    /// Returns what reads runs one at a time, when asked.
    package func cursor(_ runs: [Int]) throws -> VersionCursor {
        let hasBlocks = !asset.index.blocks.isEmpty
        return try VersionCursor(asset, hasBlocks ? runs : [], schema, first: hasBlocks || runs.isEmpty ? nil : entities(nil, 0)) { entities($1, $0) }
    }

    /// The runs that differ from the rows of a table, found by hashing the rows, and those of which that cannot be told.
    ///
    /// - Parameter session: connections on the state to look at.
    package func differingRuns(from session: ReadSession, of table: DatasetSchema) throws -> [Int] {
        guard asset.index.describes(table), !asset.index.blocks.isEmpty else { return Array(runs.indices) }
        let differing = try SyncError.at(.read) { try BlockComparison(schema: table, index: asset.index, session: session).allDifferences() }
        return Set(differing).union(runs.indices.filter { runs[$0].hash == nil }).sorted()
    }

    /// Hands over the version's tombstones and the instants that differ from the entities' own timestamps, in no order.
    package func readTail(deletion: (EntityKey, Instant) throws -> Void, instant: (EntityKey, Instant) throws -> Void) throws {
        let overlay = overlay.changes
        let tail = try asset.readMember(asset.index.tail, name: "tail")
        _ = try asset.step(.verify) {
            try tail.withBytes { bytes in
                try SnapshotTail.read(bytes, keyKind: asset.index.keyKind) { key, at in
                    if overlay.change(of: key) == nil { try deletion(key, at) }
                } instant: { key, at in
                    if overlay.change(of: key) == nil { try instant(key, at) }
                }
            }
        }
        for key in overlay.keys {
            switch overlay.change(of: key) {
            case .deleted(let at): try deletion(key, at)
            case .present(let at?): try instant(key, at)
            case .present(nil), nil: break
            }
        }
    }

    private func entities(_ block: EntityBlock?, _ number: Int) -> Entities {
        let range = range(of: number), overlay = overlay.changes
        return Entities(number: number, unknownFields: block?.unknownFieldNames ?? []) { try overlay.give(block, from: range.first, upTo: range.next, to: $0) }
    }

    private struct LentOverlay: @unchecked Sendable {
        // SAFETY: made on one thread and then used by one at a time: whoever reads the version waits for its worker.
        let changes: ChangeOverlay
        init(_ changes: ChangeOverlay) { self.changes = changes }
    }
}
