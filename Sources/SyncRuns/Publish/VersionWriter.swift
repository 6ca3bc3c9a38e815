import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// A dataset whose rows were read, and the last log entry that those rows include.
struct ReadDataset: Sendable {
    let schema: DatasetSchema
    let sequence: Int64
    /// What was known of the tracking when the rows were read.
    let doubt: TrackingDoubt?
}

/// The stored assets of one version, and what its commit decides.
struct StoredVersion: Sendable {
    var datasets: [DatasetPublisher.Written] = []
    /// The datasets that were read, including those whose entities did not change.
    var read: [ReadDataset] = []
    /// For readers whose edits this device has decided: the number of the last one.
    var decided: [ExactText: Int64] = [:]
    /// Sentences for the run's report.
    var notices: [String] = []
    var assets: [CloudAsset] { datasets.flatMap(\.assets) }
    func isWritten(_ schema: DatasetSchema) -> Bool { datasets.contains { $0.schema.name == schema.name } }
}

/// Reads the datasets of a publisher's database from one state, and stores the assets of those that differ from the last version: the stages read,
/// encode, compress and store of an ``ExportRun``.
struct VersionWriter: Sendable {
    let context: SyncContext
    /// Whether to write every dataset whole, changed or not.
    let isFull: Bool
    let progress: ProgressHandler?
    /// The datasets that may become much smaller.
    let allowed: ShrinkApproval

    /// What became of a version that was to be stored.
    enum Outcome: Sendable {
        case stored(StoredVersion)
        /// The new version would equal the last one.
        case nothingNew([ReadDataset])
        /// A dataset needs a snapshot asset, and there are too few connections for it.
        case needsMoreReaders
        /// More edits of a dataset have an instant of their own than its asset can hold.
        case tooManyInstants(DatasetSchema)
    }

    /// Reads the datasets from one state of the database, and stores the assets of those that differ from the last version.
    func store(on base: ExportBase, readers: Int) async throws -> Outcome {
        let settings = context.settings
        try limitOwnTimestamps(base.last)
        let session = try ReadSession(context.database, readers: readers, consolidating: settings.datasets)
        defer { session.end() }
        var stored = StoredVersion()
        do {
            // The session's rows must belong to the version that the export builds on.
            guard try session.withReader(0, { try $0.transaction.state.applied() })?.token == base.token else {
                throw context.anotherRun(.read)
            }
            let latest = try session.withReader(0) { try $0.transaction.changeLog.latestInstant() }
            let crowded = try session.withReader(0) { reader in
                try settings.datasets.compactMap { schema -> Instant? in
                    if try base.isUntouched(schema, in: reader.transaction) && !isFull { return nil }
                    return try TombstoneHorizon.crowded(schema, by: context.assetRule, in: reader.transaction)
                }
            }
            let missing = MissingRows(context: context, allowed: allowed)
            let publisher = DatasetPublisher(
                context: context, session: session, syncTimestamp: base.timestamp(context.now(), notBefore: latest), number: (base.token?.number ?? 0) + 1,
                isFull: isFull, mayReopen: readers == 1, progress: progress,
                missing: missing,
                horizon: (crowded + [TombstoneHorizon.now(context.now(), last: base.last)].compactMap(\.self)).max())
            for schema in settings.datasets {
                // Rows and log are read from one state: the rows include every log entry up to this number.
                let (untouched, sequence, doubt) = try session.withReader(0) {
                    (
                        try base.isUntouched(schema, in: $0.transaction), try $0.transaction.changeLog.lastEntry(),
                        try $0.transaction.changeLog.doubt(of: schema)
                    )
                }
                if untouched && !isFull || base.takenOut.contains(schema.name.exact) { continue }
                stored.read.append(ReadDataset(schema: schema, sequence: sequence, doubt: doubt))
                if try !missing.isTracked(schema, session) { try await missing.refuse(schema, after: base.last[schema.name], in: session) }
                switch try await publisher.write(schema, after: base.last[schema.name]) {
                case .written(let one):
                    stored.datasets.append(one)
                    stored.notices += try notices(schema, session)
                case .unchanged: break
                case .needsMoreReaders:
                    await context.cloud.discard(stored.assets, in: context.zone)
                    return .needsMoreReaders
                case .tooManyInstants:
                    await context.cloud.discard(stored.assets, in: context.zone)
                    return .tooManyInstants(schema)
                }
            }
            session.end()
            stored.decided = try context.database.read { try $0.decidedEdits.unpublished() }
            return stored.datasets.isEmpty && stored.decided.isEmpty && base.descriptions.isEmpty ? .nothingNew(stored.read) : .stored(stored)
        } catch {
            await context.cloud.discard(stored.assets, in: context.zone)
            // Rows that were not written since the last version are in it, so they can be exported.
            let touched = settings.datasets.filter { schema in
                (try? session.withReader(0) { try base.isUntouched(schema, in: $0.transaction) }) != true
            }
            throw BadRowSurvey(path: context.database.path, session: session).survey(error, of: touched)
        }
    }

    /// Says which rows have a timestamp that counts for nothing.
    private func notices(_ schema: DatasetSchema, _ session: ReadSession) throws -> [String] {
        guard let index = schema.timestampIndex,
            let found = try session.withReader(0, { try $0.transaction.rows.unreadTimestamps(of: schema) })
        else { return [] }
        let rows = "\(Format.count(found.count, "changed row")) \(Format.word(found.count, "has", or: "have"))"
        return ["\(schema.name): \(rows) a \(schema.columns[index].column) that is no time (key \(found.key)); the time of the change counts instead"]
    }

    /// Returns the number of connections. Change assets and small snapshots need one; a large snapshot is read on all cores.
    func readerCount(_ last: [String: DatasetRecord]) -> Int {
        let isSmall =
            !isFull
            && context.settings.datasets.allSatisfy { schema in
                last[schema.name].map { $0.dataFile.byteCount <= context.assetRule.smallByteCount || context.assetRule.wantsChanges(after: $0) } ?? false
            }
        return isSmall ? 1 : WorkerThreads.count + 1
    }

    /// Tracks rows with untracked timestamps in the future as changed now. This happens before a dataset's first version, and if tracking is
    /// incomplete.
    private func limitOwnTimestamps(_ last: [String: DatasetRecord]) throws {
        let schemas = try context.database.read { transaction in
            try context.settings.datasets.filter { try last[$0.name] == nil || !transaction.changeLog.isComplete(of: $0) }
        }
        guard !schemas.isEmpty else { return }
        try context.database.write { transaction in
            try transaction.changeLog.consolidate(of: schemas)
            for schema in schemas { try transaction.futureInstants.adoptRows(of: schema, now: context.now()) }
        }
    }
}

/// Finds every row that cannot be exported, after one such row has stopped an export.
///
/// Reads all rows of the datasets from the export's state of the database. Memory: one block, and the reasons of the first ``limit`` rows.
struct BadRowSurvey {
    /// The largest number of rows in the error.
    static let limit = 20

    let path: String
    let session: ReadSession

    /// Finds the bad rows of the datasets.
    ///
    /// - Returns: an error that names them; the original one if that is not about a row, or if only one row is bad.
    func survey(_ error: any Error, of datasets: [DatasetSchema]) -> any Error {
        guard let first = error as? SyncError, first.isBadRow else { return error }
        let rows = BadRows(limit: Self.limit)
        do {
            for schema in datasets {
                rows.begin(schema)
                try session.withReader(0) { reader in
                    let all = try reader.rows(of: schema)
                    defer { all.end() }
                    while try all.next(into: rows) {}
                }
            }
        } catch {
            // The error that stopped the export says more than this one.
            return first
        }
        guard rows.count > 1 else { return first }
        var details = rows.faults.map { "\($0.place): \($0.reason)" }
        if rows.count > rows.faults.count { details.append("and \(rows.count - rows.faults.count) more") }
        var hints: [String] = []
        for hint in rows.faults.compactMap(\.hint) where !hints.contains(hint) { hints.append(hint) }
        return SyncError(
            .dataRefused, step: first.step, at: path, "\(rows.count) rows cannot be synced; nothing was published", hint: hints.joined(separator: "; ")
        ).with(details: details)
    }
}
