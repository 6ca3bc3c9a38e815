package import LocalStore
package import LocalTables
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// Comparison with the rows of a table.
///
/// The rows are hashed block by block. Only blocks that differ, or in whose range of keys a change asset changed something, are read.
extension DatasetVersion {
    /// A run of the version and the rows of a table in the same range of keys.
    package struct Comparison {
        /// The number of the run.
        package let run: Int
        /// The version's entities.
        package fileprivate(set) var version: [EntityKey: EntityState]
        package let rows: [EntityKey: EntityState]
        /// How many rows have NULL or an infinite number in the key.
        package let keylessCount: Int
        /// Fields in the version's JSON that the schema does not have.
        package let unknownFields: Set<String>
        /// Pass on the version's entities, and the rows, once more.
        fileprivate let sendVersion: (any EntitySink) throws -> Void
        fileprivate let sendRows: (any EntitySink) throws -> Void

        /// The keys whose state differs between the version and the rows, ascending.
        package var differingKeys: [EntityKey] { Set(version.keys).union(rows.keys).filter { version[$0]?.hash != rows[$0]?.hash }.sorted() }
    }

    /// The runs that differ from the rows of a table, and the runs that have no hash to compare.
    ///
    /// - Parameter session: connections that read the state of the database to compare.
    package func differingRuns(from session: ReadSession, of table: DatasetSchema) throws -> [Int] {
        let runs = try runs()
        guard snapshot.index.describes(table), !snapshot.index.blocks.isEmpty else { return Array(runs.indices) }
        let differing = try BlockComparison(schema: table, index: snapshot.index, session: session).allDifferences()
        return Set(differing).union(runs.indices.filter { runs[$0].hash == nil }).sorted()
    }

    /// Reads runs and, for each, the rows of a table in the same range of keys.
    ///
    /// - Parameters:
    ///   - rows: a reader of the table, which has the version's schema.
    package func compare(_ runs: [Int], with rows: RangeReader, _ body: (Comparison) throws -> Void) throws {
        try read(runs) { run in
            let version = EntityStates(schema: schema), here = EntityStates(schema: schema)
            try run.send(to: version)
            try rows.read(range(of: run.number), into: here)
            try body(
                Comparison(
                    run: run.number, version: version.states, rows: here.states, keylessCount: here.keylessCount, unknownFields: run.unknownFields,
                    sendVersion: run.send, sendRows: { try rows.read(range(of: run.number), into: $0) }))
        }
    }

    private func heldStates() throws -> [EntityKey: EntityState] {
        let held = EntityStates(schema: schema)
        try readHeld { try $0.send(to: held) }
        return held.states
    }

    /// Calls `body` for each run in which rows may differ from the version. Syncing relies on the invariant that no row differs without a tracked
    /// change.
    ///
    /// A held row of the version that this device's own rows let it show is no difference: in the comparison it counts as one of the version's.
    ///
    /// - Parameter body: takes the comparison, and the keys that differ and have no tracked change, ascending.
    package func forEachUntrackedDifference(in session: ReadSession, _ body: (Comparison, [EntityKey]) throws -> Void) throws {
        let runs = try differingRuns(from: session, of: schema)
        var held: [EntityKey: EntityState]?
        try session.withReader(0) { reader in
            try compare(runs, with: reader.ranges(of: schema)) { found in
                let touched = try reader.transaction.changeLog.touchedKeys(of: schema, in: range(of: found.run))
                var found = found, keys = found.differingKeys.filter { !touched.contains($0) }
                for key in keys where found.version[key] == nil {
                    held = try held ?? heldStates()
                    if let row = held?[key], row.hash == found.rows[key]?.hash { found.version[key] = row }
                }
                keys.removeAll { found.version[$0]?.hash == found.rows[$0]?.hash }
                try body(found, keys)
            }
        }
    }

    /// Describes the first difference between a table and the version with the tracked changes applied, in a sentence; nil if there is none.
    package func firstUntrackedDifference(in database: LocalDatabase) throws -> String? {
        let difference: String? = try withSession(on: database) { session in
            let hasNullKeys = try session.withReader(0) { reader in
                _ = try reader.transaction.tables.check(of: schema)
                return try reader.transaction.rows.hasNullKeys(schema)
            }
            if hasNullKeys { return "a row has no key" }
            var found: String?
            try forEachUntrackedDifference(in: session) { comparison, keys in
                guard found == nil, let key = keys.first?.description ?? (comparison.keylessCount > 0 ? "without a usable key" : nil) else { return }
                found =
                    snapshot.index.blocks.isEmpty
                    ? "the snapshot has no entities, and the row \(key) was not tracked"
                    : "the entity \(key) in block \(comparison.run) differs and was not tracked"
            }
            return found
        }
        return difference.map { "\(database.path), table \(schema.table): \($0) (compared with \(place))" }
    }

    /// An entity of a table that differs from the version.
    package struct Difference {
        package let key: EntityKey
        /// The positions of the columns that differ in this version's schema; all if one of the two does not have the entity.
        package let columns: [Int]
        /// The timestamp that the entity has in the version.
        package let seen: Instant?
        /// Whether the entity has a tracked change.
        package let isTracked: Bool
    }

    /// The entities of a table that differ from the version, in key order, and the keys of all entities that the version does not have.
    package func differences(from database: LocalDatabase) throws -> (found: [Difference], absent: Set<EntityKey>) {
        try withSession(on: database) { session in
            var found: [Difference] = []
            var absent: Set<EntityKey> = []
            try forEachUntrackedDifference(in: session) { comparison, keys in
                let untracked = Set(keys)
                for (key, columns) in try comparison.differingColumns(schema) {
                    found.append(
                        Difference(key: key, columns: columns, seen: comparison.version[key]?.timestamp, isTracked: !untracked.contains(key)))
                }
                absent.formUnion(comparison.rows.keys.filter { comparison.version[$0] == nil })
            }
            return (found, absent)
        }
    }

    private func withSession<T>(on database: LocalDatabase, _ body: (ReadSession) throws -> T) throws -> T {
        let session = try ReadSession(database, readers: WorkerThreads.count)
        defer { session.end() }
        return try body(session)
    }
}

extension DatasetVersion.Comparison {
    /// The keys whose state differs, ascending, each with the positions of the columns that differ.
    fileprivate func differingColumns(_ schema: DatasetSchema) throws -> [(key: EntityKey, columns: [Int])] {
        let keys = differingKeys
        guard !keys.isEmpty else { return [] }
        let common = Set(keys.filter { version[$0] != nil && rows[$0] != nil })
        func values(_ give: (any EntitySink) throws -> Void) throws -> [EntityKey: [OwnedValue]] {
            let kept = OwnedEntities(schema: schema)
            try give(FilteringSink(kept, schema, where: common.contains))
            return Dictionary(kept.all.map { ($0.key, $0.values) }, uniquingKeysWith: { $1 })
        }
        let there = try values(sendVersion), here = try values(sendRows)
        return keys.map { key in
            guard let there = there[key], let here = here[key] else { return (key, Array(schema.columns.indices)) }
            return (key, schema.columns.indices.filter { there[$0] != here[$0] })
        }
    }
}
