import CloudStore
import LocalStore
package import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

/// Keeps the present data before it is replaced on purpose, so that `undo` can restore it.
package struct UndoRecorder: Sendable {
    package let context: SyncContext

    /// Data that was kept. It must be recorded in the same transaction that replaces the data.
    package struct Kept: Sendable {
        package let point: UndoPoint
        package let applied: AppliedVersion?
        /// The sequence number of the last change that the kept data includes.
        package let sequence: Int64
        package let pin: PendingPin?

        package init(point: UndoPoint, applied: AppliedVersion?, sequence: Int64, pin: PendingPin?) {
            (self.point, self.applied, self.sequence, self.pin) = (point, applied, sequence, pin)
        }

        /// Checks that the data has not changed since it was kept.
        package func verify(_ transaction: LocalTransaction) throws {
            guard try transaction.state.applied() == applied, try transaction.changeLog.lastSequence() == sequence else {
                throw SyncError(
                    .tryAgainLater, step: .apply, at: "the database", "a program changed the data while they were being kept",
                    hint: "run the same command again")
            }
        }

        /// Records the state for `undo`.
        package func record(_ transaction: LocalTransaction) throws {
            try transaction.state.undoPoint.set(point)
            guard let pin else { return }
            try transaction.state.pendingPins.set(transaction.state.pendingPins().filter { $0.version != pin.version } + [pin])
        }
    }

    /// Keeps the data: as the applied version if nothing was changed since, otherwise as a backup beside the database.
    package func keep(act: String) async throws -> Kept {
        let (applied, sequence, isVersion) = try context.database.read { transaction in
            let isVersion = try context.settings.datasets.allSatisfy { schema in
                let changes = try transaction.changeLog.summary(of: schema)
                return try changes.isComplete && changes.count == 0 && transaction.waiting.rows(of: schema).isEmpty
            }
            return (try transaction.state.applied(), try transaction.changeLog.lastSequence(), isVersion)
        }
        let now = context.now()
        if isVersion, let applied {
            let point = UndoPoint(act: act, at: now, copy: nil, version: applied.number)
            return Kept(point: point, applied: applied, sequence: sequence, pin: try await pendingPin(of: applied.number, act: act))
        }
        let copy = try await LocalBackups(context: context).make(reason: "before the \(act)")
        let point = UndoPoint(act: act, at: now, copy: copy.number, version: applied?.number)
        return Kept(point: point, applied: applied, sequence: copy.sequence, pin: nil)
    }

    /// The pin of a version that the next commit is to make; nil at a reader, which publishes none.
    package func pendingPin(of version: Int, act: String) async throws -> PendingPin? {
        guard context.settings.role.publishes else { return nil }
        let pin = try await context.makePin(of: version, name: "before the \(act)")
        return PendingPin(version: version, name: pin.name ?? "", commit: pin.commit, checkpoint: pin.checkpoint.sha256, timestamp: pin.timestamp)
    }
}
