package import CloudStore
import LocalStore
package import LocalTables
import SnapshotFormat
package import SnapshotModel
package import SnapshotVersions
package import StrictText
package import SyncRuns

/// Compares a table's rows with a version, and turns them into that version with changes that the triggers log.
///
/// Equal rows are not touched. Memory: a run of entities, and the keys that differ.
package struct DatasetRestorer: Sendable {
    package let schema: DatasetSchema
    package let version: DatasetVersion
    package let database: LocalDatabase
    /// The only row that is restored; nil for all.
    package var key: EntityKey?

    /// The changes that turn the rows into the version.
    package struct Differences: Sendable {
        /// Keys that only the version has, by run of the version.
        package var added: [Int: Set<EntityKey>] = [:]
        /// Keys that both have with different values, by run of the version.
        package var changed: [Int: Set<EntityKey>] = [:]
        /// Keys that only the table has.
        package var removed: [EntityKey] = []
        /// The version's timestamps of the changed entities, for callers that track the differences instead of applying them.
        package var timestamps: [EntityKey: Instant] = [:]

        package var addedCount: Int { added.values.reduce(0) { $0 + $1.count } }
        package var changedCount: Int { changed.values.reduce(0) { $0 + $1.count } }
        package var isEmpty: Bool { added.isEmpty && changed.isEmpty && removed.isEmpty }
    }

    /// A restorer for each dataset that a state has, and the names of the datasets that it lacks.
    ///
    /// - Parameter row: the only row that is restored; nil for all.
    package static func all(of state: ZoneState, only row: RestoredRow?, in cloud: CloudDatabase, zone: ZoneID, on context: SyncContext) async throws -> (
        found: [DatasetRestorer], lacking: [String]
    ) {
        var found: [DatasetRestorer] = [], lacking: [String] = []
        for schema in context.settings.datasets where row?.dataset ?? schema.name == schema.name {
            guard let record = state.record(schema.recordName) else {
                lacking.append(schema.name)
                continue
            }
            let version = try await DatasetVersion(record, as: schema, in: cloud, zone: zone).loaded()
            found.append(DatasetRestorer(schema: schema, version: version, database: context.database, key: row?.key))
        }
        return (found, lacking)
    }

    /// Compares the rows with the version. The caller's write transaction must not have changed these rows, because other connections read them.
    /// It also keeps other writers out.
    package func differences(_ transaction: LocalTransaction) throws -> Differences {
        _ = try transaction.tables.check(of: schema)
        var found = Differences()
        let runs: [Int]
        if let key {
            runs = try version.runs().indices.filter { version.range(of: $0).contains(key) }
        } else {
            let session = try ReadSession(alongside: database, readers: WorkerThreads.count)
            defer { session.end() }
            runs = try version.differingRuns(from: session, of: schema)
        }
        let rows = transaction.rows.ranges(of: schema)
        // Columns that were removed here on purpose are allowed to be unknown; their values remain in the older versions.
        let dropped = try transaction.state.removedColumns(of: schema)
        try version.compare(runs, with: rows) { run in
            try refuseUnknown(run, except: dropped)
            add(run, to: &found)
        }
        return found
    }

    /// Changes the rows to the version's, in the same transaction as the comparison.
    package func apply(_ differences: Differences, in transaction: LocalTransaction, _ progress: ProgressHandler? = nil) throws {
        guard !differences.isEmpty else { return }
        // One row leaves others as they are.
        let isWhole = key == nil
        try SyncGuards.refuseUnfillableColumns(transaction.tables.check(of: schema), schema, at: database.path)
        // Delete first: a value of a UNIQUE column may move from one row to another.
        if isWhole { try transaction.rows.deleteRowsWithoutKey(of: schema) }
        try transaction.rows.deleteEntities(differences.removed + differences.changed.values.flatMap(\.self), of: schema)
        let applier = try transaction.rows.inserting(into: schema)
        let count = differences.addedCount + differences.changedCount
        let wanted = differences.added.merging(differences.changed) { $0.union($1) }
        try version.read(wanted.keys.sorted()) { run in
            try run.send(to: FilteringSink(applier, schema) { wanted[run.number]?.contains($0) ?? false })
            progress?(SyncProgress(step: .apply, dataset: schema.name, entityCount: applier.count, expectedCount: count))
        }
        if isWhole { try transaction.rows.checkCount(of: schema, is: version.recordCount) }
    }

    /// The version's held rows.
    package func held() throws -> [EntityKey: [OwnedValue]] {
        let rows = OwnedEntities(schema: schema)
        try version.readHeld { try $0.send(to: rows) }
        return Dictionary(rows.all.map { ($0.key, $0.values) }, uniquingKeysWith: { first, _ in first })
    }

    private func add(_ run: DatasetVersion.Comparison, to found: inout Differences) {
        for key in run.differingKeys where self.key ?? key == key {
            guard let state = run.version[key] else {
                found.removed.append(key)
                continue
            }
            if run.rows[key] == nil { found.added[run.run, default: []].insert(key) } else { found.changed[run.run, default: []].insert(key) }
            if let timestamp = state.timestamp { found.timestamps[key] = timestamp }
        }
    }

    private func refuseUnknown(_ run: DatasetVersion.Comparison, except dropped: Set<ExactText>) throws {
        let unknown = run.unknownFields.filter { !dropped.contains($0.exact) }
        guard unknown.isEmpty else {
            throw SyncError(
                .refused, step: .decode, at: version.place,
                "its entities have fields that this device does not know (\(unknown.sorted { $0.exact < $1.exact }.joined(separator: ", ")))",
                hint: "update the dataset file or snapsync on this device; nothing was changed")
        }
    }
}
