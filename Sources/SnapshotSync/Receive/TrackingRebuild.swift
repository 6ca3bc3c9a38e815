import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Tracks again what was changed while nothing was tracked: an application's migration has rebuilt a table, and the triggers
/// went with it.
///
/// The rows are compared with the version that is here, block by block; an entity that differs was changed, and its instant is
/// its own timestamp. Without this an import would take what was changed meanwhile for what no version has, and remove it.
struct TrackingRebuild: Sendable {
    let device: Device

    /// Rebuilds what is known of the datasets whose changes are not known, where there is a version to compare with.
    func run(_ news: ZoneNews) async throws {
        guard device.settings.role.publishes, news.fork == nil, let applied = news.applied else { return }
        let untracked = try SyncError.at(.read) { try device.database.read { transaction in try device.settings.datasets.filter { try !transaction.trackedChanges(of: $0).isComplete } } }
        guard !untracked.isEmpty else { return }
        let state = try await SyncError.at(.fetch) {
            do {
                return try await device.cloud.records(in: device.zone, at: applied.number, notBefore: applied.token)
            } catch let error as CloudError where error.code == .unknownItem {
                // It is no longer kept. Against the newest version more differs, and each entity's own timestamp decides.
                return try await device.cloud.records(in: device.zone, at: nil, notBefore: applied.token)
            }
        }
        for schema in untracked {
            guard let record = state.record(schema.recordName) else { continue }
            let asset = try await SnapshotAsset(of: record, dataset: schema.name, in: device.cloud, zone: device.zone)
            try await WorkerThreads.run { try track(schema, asset) }
        }
    }

    private func track(_ schema: DatasetSchema, _ asset: SnapshotAsset) throws {
        let found = try differences(schema, asset)
        try SyncError.at(.read) {
            try device.database.write { transaction in
                for (key, seen) in found { try transaction.noteTouched(key, of: schema, replacing: seen, at: device.now()) }
                try transaction.regainCompleteness(of: schema)
            }
        }
    }

    /// The keys whose rows are not the version's entities, each with the timestamp that the entity has in the version.
    private func differences(_ schema: DatasetSchema, _ asset: SnapshotAsset) throws -> [(EntityKey, Instant?)] {
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: WorkerThreads.count) }
        defer { session.end() }
        guard asset.index.describes(schema) else {
            throw SyncError(
                .refused, step: .read, at: "\(device.database.path), table \(schema.table)", "its changes were not tracked, and the version that is here has other columns",
                hint: "correct the dataset file, or start anew with snapsync detach and snapsync init")
        }
        if asset.index.blocks.isEmpty { return try compare(KeyRange(number: 0, first: nil, next: nil), [:], schema, session) }
        let blocks = try BlockComparison(schema: schema, index: asset.index, session: session).allDifferences()
        var found: [(EntityKey, Instant?)] = []
        try BlockPipeline(asset: asset, blocks: blocks, workerCount: 1).run(.entities(schema)) { number, block in
            let version = EntityStates(schema: schema)
            try block.give(to: version)
            found += try compare(BlockComparison.range(ofBlock: number, in: asset.index), version.states, schema, session)
        }
        return found
    }

    private func compare(_ range: KeyRange, _ version: [EntityKey: EntityState], _ schema: DatasetSchema, _ session: ReadSession) throws -> [(EntityKey, Instant?)] {
        try SyncError.at(.read) {
            try session.withReader(0) { reader in
                let rows = EntityStates(schema: schema)
                try reader.ranges(of: schema).read(range, into: rows)
                let touched = try reader.transaction.touchedKeys(of: schema, in: range)
                return Set(version.keys).union(rows.states.keys).subtracting(touched).sorted()
                    .filter { version[$0]?.hash != rows.states[$0]?.hash }.map { ($0, version[$0]?.timestamp) }
            }
        }
    }
}
