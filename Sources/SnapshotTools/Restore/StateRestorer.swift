import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The result of `restore` or `undo`.
public struct RestoreReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        public let added: Int
        public let changed: Int
        public let removed: Int
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
    public var hasChanged: Bool { datasets.contains { $0.added + $0.changed + $0.removed > 0 } }
}

/// Restores an earlier state of the data with ordinary changes, which the next sync publishes or sends.
///
/// The previous data can be restored again: it is the applied version, or a backup beside the database if it contained more than that version.
/// The change token never decreases.
struct StateRestorer: Sendable {
    let device: SyncContext
    var progress: ProgressHandler?

    /// A state to restore.
    struct Source: Sendable {
        /// Its name for messages.
        let name: String
        let version: Int?
        let state: ZoneState
        let cloud: CloudDatabase
    }

    /// Restores `source`. `act` names the operation, for the message of a later `undo`.
    func run(_ source: Source, act: String) async throws -> RestoreReport {
        var warnings = try device.keepTracking()
        var restorers: [DatasetRestorer] = []
        for schema in device.settings.datasets {
            guard let record = source.state.record(schema.recordName) else {
                warnings.append("\(source.name) has no dataset \(schema.name); its table stays as it is")
                continue
            }
            let version = try await DatasetVersion(record, as: schema, in: source.cloud, zone: device.zone).loaded()
            restorers.append(DatasetRestorer(schema: schema, version: version, database: device.database))
        }
        let before = try await UndoRecorder(device: device).keep(act: act)
        let (found, notes) = (restorers, warnings)
        return try SyncError.at(.apply) {
            try device.database.withoutRollbacks {
                try device.database.write { transaction in
                    try before.verify(transaction)
                    let differences = try found.map { try $0.differences(transaction) }
                    var report = RestoreReport(
                        restored: source.name, version: source.version,
                        datasets: zip(found, differences).map {
                            .init(name: $0.schema.name, added: $1.addedCount, changed: $1.changedCount, removed: $1.removed.count)
                        },
                        keptCopy: before.point.copy, versionBefore: before.point.version, warnings: notes)
                    guard report.hasChanged else { return report }
                    let keeper = try ForeignKeyEnforcer(transaction, datasets: device.settings.datasets)
                    try transaction.tracking.changing(device.settings.datasets, then: keeper.enforce) {
                        for (restorer, differences) in zip(found, differences) { try restorer.apply(differences, in: transaction, progress) }
                    }
                    report.warnings += transaction.triggerNotices
                    try before.record(transaction)
                    return report
                }
            }
        }
    }
}
