import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import StrictText

/// What the database knows about its syncing, without access to a cloud.
struct LocalStatus: Sendable {
    let settings: SyncSettings
    let operators: OperatorSettings
    let journalMode: String
    let applied: AppliedVersion?
    let view: String?
    let lastSuccess: Instant?
    /// Since when this reader has not been able to send its messages; nil if the last attempt succeeded.
    let unsentSince: Instant?
    let lastFailure: RunFailure?
    let lastExport: RunRecord?
    let lastImport: RunRecord?
    let states: [DatasetState]
    /// The tracked changes of each dataset, in the order of the settings.
    let changes: [Changes]
    /// When automatic retention last ran, whether or not it removed anything.
    let lastRetention: Instant?
    /// The last restore check.
    let lastRestoreCheck: RestoreCheckRecord?
    /// The state that `undo` would restore.
    let undo: UndoPoint?
    /// How many entries of the conflict journal are open.
    let conflicts: Int
    /// The promised maximum interval between new versions of the zone.
    let freshness: FreshnessNote?
    /// The zones that this database has left. `nextZone` is the one in which it waits for approval.
    let earlierZones: [EarlierZone]
    let nextZone: String?
    /// The time of this reading.
    let now: Instant

    /// The changes since the applied version.
    struct Changes: Sendable {
        let count: Int
        /// Whether every change is logged.
        let isTracked: Bool
    }

    init(_ database: LocalDatabase, now: Instant) throws {
        self.now = now
        journalMode = try database.journalMode()
        let noted: (success: Instant?, unsentSince: Instant?, export: RunRecord?, import: RunRecord?), idle: Instant?
        (settings, operators, applied, view, noted, idle, lastFailure, states, changes, undo, lastRetention, lastRestoreCheck, conflicts) = try database.read {
            transaction in
            let settings = try transaction.settings.read(), isTracking = try transaction.tracking.isInstalled(settings.datasets)
            let changes = try settings.datasets.map { schema in
                let found = try transaction.changeLog.summary(of: schema)
                return Changes(count: found.count, isTracked: isTracking && found.isComplete)
            }
            return (
                settings, try transaction.settings.operatorSettings(), try transaction.state.applied(), try transaction.state.view(),
                (
                    try transaction.state.lastSuccess(), try transaction.state.unsentSince(), try transaction.state.lastRun(.export),
                    try transaction.state.lastRun(.import)
                ),
                try transaction.state.lastIdleRun(of: settings.role), try transaction.state.lastFailure(), try transaction.datasetStates.all(), changes,
                try transaction.state.undoPoint(),
                try transaction.state.lastRetention(), try transaction.state.lastRestoreCheck(), try transaction.conflictJournal.openCount()
            )
        }
        let next: String?
        (freshness, earlierZones, next) = try database.read { (try $0.state.freshness(), try $0.state.earlierZones(), try $0.state.nextZone()) }
        nextZone = try next.map { try StrictJSON.decode(ZoneSuccessor.self, from: Data($0.utf8)).zone }
        // A run with nothing to do is recorded by the time of a file beside the database.
        let imported = [noted.success, idle].compactMap { $0 }.max()
        // A reader must also send its changes. While sending fails, the last success is not later than the first failure.
        unsentSince = settings.role == .reader ? noted.unsentSince : nil
        let unsent = unsentSince
        lastSuccess = imported.map { min($0, unsent ?? $0) }
        let own = RunKind(of: settings.role)
        lastExport = own == .export ? Self.later(noted.export, idle) : noted.export
        lastImport = own == .import ? Self.later(noted.import, idle) : noted.import
    }

    /// How long an idle run took is not recorded.
    private static func later(_ noted: RunRecord?, _ idle: Instant?) -> RunRecord? {
        idle.map { RunRecord(at: $0, microseconds: noted?.microseconds ?? 0) } ?? noted
    }

    /// The time since the last success, in seconds; nil if there was none.
    var successAge: Int? { lastSuccess?.age(at: now) }
}

extension Instant {
    /// The time since this instant, in seconds; 0 if the clock was set back since.
    func age(at now: Instant) -> Int { max(0, Int((now.microseconds - microseconds) / 1_000_000)) }
}
