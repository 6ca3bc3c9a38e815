package import LocalStore
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// Comparison with the rows of a table.
///
/// Rows are hashed block by block; only a block that differs, or in whose range a change asset touched something, is read.
extension DatasetVersion {
    /// A run of the version beside the rows of a table in the same range of keys.
    package struct Comparison {
        /// The number of the run.
        package let run: Int
        /// The version's entities.
        package let version: [EntityKey: EntityState]
        /// The rows.
        package let rows: [EntityKey: EntityState]
        /// How many rows have a key of another type than the dataset's.
        package let misfitCount: Int
        /// Fields in the version's JSON that the schema does not have.
        package let unknownFields: Set<String>

        /// The keys under which version and rows are not the same, ascending.
        package var differingKeys: [EntityKey] { Set(version.keys).union(rows.keys).filter { version[$0]?.hash != rows[$0]?.hash }.sorted() }
    }

    /// The runs that differ from the rows of a table, found by hashing the rows, and those of which that cannot be told.
    ///
    /// - Parameter session: connections on the state to look at.
    package func differingRuns(from session: ReadSession, of table: DatasetSchema) throws -> [Int] {
        let runs = try runs()
        guard snapshot.index.describes(table), !snapshot.index.blocks.isEmpty else { return Array(runs.indices) }
        let differing = try SyncError.at(.read) { try BlockComparison(schema: table, index: snapshot.index, session: session).allDifferences() }
        return Set(differing).union(runs.indices.filter { runs[$0].hash == nil }).sorted()
    }

    /// Reads runs and, beside each, the rows of a table in its range of keys.
    ///
    /// - Parameters:
    ///   - rows: a reader of the table, which has the version's schema.
    package func compare(_ runs: [Int], with rows: RangeReader, _ body: (Comparison) throws -> Void) throws {
        try read(runs) { run in
            let version = EntityStates(schema: schema), here = EntityStates(schema: schema)
            try run.give(to: version)
            try SyncError.at(.read) {
                try rows.read(range(of: run.number), into: here)
                try body(
                    Comparison(
                        run: run.number, version: version.states, rows: here.states, misfitCount: here.misfitCount, unknownFields: run.unknownFields))
            }
        }
    }

    /// Calls `body` for each run in which rows differ from the version and no tracked change says so: the invariant that all of
    /// syncing rests on is that there is none.
    ///
    /// - Parameter body: takes the comparison, and the keys that differ and were not touched, ascending.
    package func forEachUntrackedDifference(in session: ReadSession, _ body: (Comparison, [EntityKey]) throws -> Void) throws {
        let runs = try differingRuns(from: session, of: schema)
        try session.withReader(0) { reader in
            try compare(runs, with: reader.ranges(of: schema)) { found in
                let touched = try reader.transaction.changeLog.touchedKeys(of: schema, in: range(of: found.run))
                let keys = found.differingKeys.filter { !touched.contains($0) }
                if !keys.isEmpty || found.misfitCount > 0 { try body(found, keys) }
            }
        }
    }

    /// Returns what differs first between a database's table and the version with the tracked changes, in a sentence; nil if
    /// nothing does.
    package func firstUntrackedDifference(in database: LocalDatabase) throws -> String? {
        let difference: String? = try withSession(on: database) { session in
            let hasNullKeys = try session.withReader(0) { reader in
                _ = try reader.transaction.tables.check(of: schema)
                return try reader.transaction.rows.hasNullKeys(schema)
            }
            if hasNullKeys { return "a row has no key" }
            var found: String?
            try forEachUntrackedDifference(in: session) { comparison, keys in
                guard found == nil, let key = keys.first?.description ?? (comparison.misfitCount > 0 ? Self.misfit(schema) : nil) else { return }
                found =
                    snapshot.index.blocks.isEmpty
                    ? "the snapshot has no entities, and the row \(key) was not tracked"
                    : "the entity \(key) in block \(comparison.run) differs and was not tracked"
            }
            return found
        }
        return difference.map { "\(database.path), table \(schema.table): \($0) (compared with \(place))" }
    }

    /// The entities of a database's table that differ and were not tracked, in key order, each with the timestamp that it has in
    /// the version.
    package func untrackedChanges(in database: LocalDatabase) throws -> [(key: EntityKey, seen: Instant?)] {
        try withSession(on: database) { session in
            var found: [(key: EntityKey, seen: Instant?)] = []
            try forEachUntrackedDifference(in: session) { comparison, keys in found += keys.map { ($0, comparison.version[$0]?.timestamp) } }
            return found
        }
    }

    private func withSession<T>(on database: LocalDatabase, _ body: (ReadSession) throws -> T) throws -> T {
        try SyncError.at(.read) {
            let session = try ReadSession(database, readers: WorkerThreads.count)
            defer { session.end() }
            return try body(session)
        }
    }

    private static func misfit(_ schema: DatasetSchema) -> String {
        "whose key is not of type \(schema.keyColumns.map(\.kind.rawValue).joined(separator: ", "))"
    }
}
