import CloudStore
import LocalStore
import LocalTables
public import SnapshotEngine
public import SnapshotModel
import SnapshotVersions
public import StrictText
public import SyncRuns

/// The result of `restore` or `undo`.
public struct RestoreReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        public let added: Int
        public let changed: Int
        public let removed: Int
        /// How many rows are held now, or no longer held, as in the restored state.
        public let held: Int
    }

    /// The name of the restored state, for a sentence: `version 4`, `the state before the restore of version 4`.
    public let restored: String
    /// The version that was restored; nil for a backup on this device.
    public let version: Int?
    public let datasets: [Dataset]
    /// The number of the backup of the previous data; nil if that data is a version.
    public let keptCopy: Int?
    /// The previously applied version; nil if there was none.
    public let versionBefore: Int?
    /// Findings that deserve attention, as sentences.
    public internal(set) var warnings: [String]

    /// Whether any row was changed.
    public var hasChanged: Bool { datasets.contains { $0.added + $0.changed + $0.removed + $0.held > 0 } }
}

/// Restores an earlier state of the data with ordinary changes, which the next sync publishes or sends.
///
/// The previous data can be restored again: it is the applied version, or a backup beside the database if it contained more than that version.
/// The change token never decreases.
struct StateRestorer: Sendable {
    let context: SyncContext
    var progress: ProgressHandler?

    /// A state to restore.
    struct Source: Sendable {
        /// Its name for messages.
        let name: String
        let version: Int?
        let state: ZoneState
        let cloud: CloudDatabase
        let zone: ZoneID
        /// Whether this database was in the state before. Then it is taken as it was, broken references included.
        let wasHere: Bool
        /// The only row that is restored; nil for all.
        var row: RestoredRow?
    }

    /// Restores `source`. `act` names the operation, for the message of a later `undo`.
    func run(_ source: Source, act: String) async throws -> RestoreReport {
        let warnings = try context.keepTracking()
        let (found, lacking) = try await DatasetRestorer.all(of: source.state, only: source.row, in: source.cloud, zone: source.zone, on: context)
        let before = try await UndoRecorder(context: context).keep(act: act)
        let notes = warnings + lacking.map { "\(source.name) has no dataset \($0); its table stays as it is" } + (source.row == nil ? leftOut(source) : [])
        return try context.database.withoutRollbacks {
            try context.database.write { transaction in
                try before.verify(transaction)
                let differences = try found.map { try $0.differences(transaction) }
                let publishes = context.settings.role.publishes
                let held = try (source.row == nil ? found : []).map { one in
                    (HeldRowRestorer(transaction: transaction, schema: one.schema, publishes: publishes, now: context.now()), try one.held())
                }
                let counts = try held.map { try $0.differences(from: $1).count }
                var report = RestoreReport(
                    restored: source.name, version: source.version,
                    datasets: zip(found, differences).enumerated().map { number, one in
                        .init(
                            name: one.0.schema.name, added: one.1.addedCount, changed: one.1.changedCount, removed: one.1.removed.count,
                            held: counts.isEmpty ? 0 : counts[number])
                    },
                    keptCopy: before.point.copy, versionBefore: before.point.version, warnings: notes)
                guard report.hasChanged else { return report }
                let keeper = try ForeignKeyEnforcer(transaction, datasets: context.settings.datasets, between: source.wasHere ? nil : hint(source))
                try transaction.tracking.changing(context.settings.datasets) {
                    for (restorer, differences) in zip(found, differences) { try restorer.apply(differences, in: transaction, progress) }
                }
                for (restorer, rows) in held { try restorer.restore(rows) }
                // Only now are those parents held that the state holds.
                if keeper.isNeeded { try transaction.tracking.changing(context.settings.datasets, then: keeper.enforce) {} }
                report.warnings += transaction.triggerNotices
                try before.record(transaction)
                return report
            }
        }
    }
}

extension StateRestorer {
    /// A sentence for each dataset of the state that this database does not sync.
    private func leftOut(_ source: Source) -> [String] {
        let described = (try? source.state.descriptions(in: context.zone)) ?? []
        return source.state.records.filter { record in
            DatasetRecord(record) != nil && !context.settings.datasets.contains { $0.recordName.exact == record.name.exact }
        }.map { record in
            let name = described.first { $0.schema.recordName.exact == record.name.exact }?.schema.name ?? record.name
            let look = source.version.map { " (snapsync show \(context.database.path.shellWord) \(record.name.shellWord) --at \($0) prints them)" }
            return "\(source.name) has the dataset \(name), which this database does not sync; its rows were left out\(look ?? "")"
        }
    }

    /// What to do if the state has rows that break a foreign key of the tables.
    private func hint(_ source: Source) -> String {
        let look = source.version.map { "; what would change: snapsync diff \(context.database.path.shellWord) \($0) local" }
        return "to take the rows all the same, drop the foreign key first, and correct the rows before you declare it again\(look ?? "")"
    }
}

/// The state that `restore` restores.
public enum RestoreTarget: Sendable, Hashable {
    /// A kept or pinned version.
    case version(Int)
    /// The newest version before an instant.
    case before(Instant)
}

/// One row to restore: its dataset and its key.
public struct RestoredRow: Sendable, Hashable {
    public let dataset: String
    public let key: EntityKey

    public init(dataset: String, key: EntityKey) { (self.dataset, self.key) = (dataset, key) }
}

extension SyncVersions {
    /// Restores an earlier version with tracked changes, which the next sync publishes as a new version. Publishers only.
    ///
    /// News in the zone is imported first. ``undo(progress:)`` restores the previous data.
    ///
    /// - Parameter row: the only row to restore; nil for all. A row that the version lacks is deleted.
    public func restore(_ target: RestoreTarget, only row: RestoredRow? = nil, progress: ProgressHandler? = nil) async throws -> RestoreReport {
        try await engine.locked {
            let context = try engine.context()
            try await context.checkPublisher(
                .apply, else: "what it restores could not be published",
                hint:
                    "restore on a device that publishes; to look at an old version here: snapsync show \(context.database.path.shellWord) DATASET --at N"
            )
            try context.refuseUnknownFields()
            let finder = VersionFinder(cloud: context.cloud, zone: context.zone, token: nil)
            let number =
                switch target {
                case .version(let number): number
                case .before(let instant): try await finder.newest(before: instant)
                }
            // Find the version before the import, so that nothing is changed if it does not exist.
            let source = StateRestorer.Source(
                name: "version \(number)", version: number, state: try await finder.state(of: number), cloud: context.cloud, zone: context.zone, wasHere: false,
                row: row)
            _ = try await ImportRun(context: context, progress: progress).importNewest()
            return try await StateRestorer(context: context, progress: progress).run(
                source, act: "restore of \(row == nil ? "" : "a row of ")version \(number)")
        }
    }

    /// Restores the data that the last `restore`, `replace` or `undo` replaced. It can be undone itself.
    public func undo(progress: ProgressHandler? = nil) async throws -> RestoreReport {
        try await engine.locked {
            let context = try engine.context()
            guard let point = try engine.database.read({ try $0.state.undoPoint() }) else {
                throw SyncError(
                    .nothingThere, step: .apply, at: context.database.path, "there is nothing to undo",
                    hint: "undo brings back what the last restore or replace has replaced")
            }
            let name = "the state before the \(point.act)"
            let source: StateRestorer.Source
            if let copy = point.copy {
                let (cloud, state) = try await LocalBackups(context: context).state(of: copy)
                source = StateRestorer.Source(name: name, version: nil, state: state, cloud: cloud, zone: LocalBackups.zone, wasHere: true)
            } else {
                let state = try await VersionFinder(cloud: context.cloud, zone: context.zone, token: nil).state(of: point.version)
                source = StateRestorer.Source(name: name, version: point.version, state: state, cloud: context.cloud, zone: context.zone, wasHere: true)
            }
            // A reader does not publish its rows, so it needs no import before it restores them.
            if context.settings.role.publishes { _ = try await ImportRun(context: context, progress: progress).importNewest() }
            return try await StateRestorer(context: context, progress: progress).run(source, act: point.actOfUndoing)
        }
    }
}

extension SyncContext {
    /// Refuses the operation if the zone's data has fields that this device does not know: its next export would lose them.
    func refuseUnknownFields() throws {
        try SyncGuards.refuseUnknownFields(database.read { try $0.datasetStates.all() })
    }
}

extension UndoPoint {
    /// The name of restoring this state: an undo, then alternately a redo and an undo of the same operation.
    fileprivate var actOfUndoing: String {
        let undo = "undo of the ", redo = "redo of the "
        if act.exact.hasPrefix(undo) { return redo + act.dropFirst(undo.count) }
        return undo + (act.exact.hasPrefix(redo) ? String(act.dropFirst(redo.count)) : act)
    }
}
