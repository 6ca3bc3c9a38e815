package import SnapshotModel
package import StrictText

extension StateTable {
    /// When the role's regular run last succeeded.
    package func lastSuccess() throws -> Instant? { try plainValue("lastSuccess") }

    /// Records that the role's regular run succeeded, and deletes the last failure.
    package func setLastSuccess(_ instant: Instant) throws {
        try setPlainValue("lastSuccess", instant)
        try setLastFailure(nil)
    }

    /// Since when this reader's messages cannot be sent; nil if they can be sent.
    package func unsentSince() throws -> Instant? { try plainValue("unsentSince") }

    /// Records since when messages cannot be sent.
    package func setUnsentSince(_ instant: Instant?) throws { try setPlainValue("unsentSince", instant) }

    /// Why the last run failed; nil if it succeeded.
    package func lastFailure() throws -> RunFailure? { try value("lastFailure") }

    /// Stores or deletes the failure of the last run.
    package func setLastFailure(_ failure: RunFailure?) throws { try setValue("lastFailure", failure) }

    /// The last successful run of a kind; nil before the first.
    package func lastRun(_ kind: RunKind) throws -> RunRecord? { try plainValue(kind.rawValue) }

    /// Records a successful run.
    package func setLastRun(_ kind: RunKind, _ run: RunRecord) throws { try setPlainValue(kind.rawValue, run) }

    /// When the role's last regular run that had nothing to do began, by the time of the lock file; nil if the database has a later run.
    package func lastIdleRun(of role: SyncRole) throws -> Instant? {
        guard let recorded = try lastRun(RunKind(of: role)), let began = RunLock.lastIdleRun(of: path), began > recorded.at else { return nil }
        return began
    }

    /// When the last automatic removal of versions was attempted; nil before the first.
    package func lastRetention() throws -> Instant? { try plainValue("lastRetention") }

    /// Records when the last automatic removal of versions was attempted.
    package func setLastRetention(_ instant: Instant) throws { try setPlainValue("lastRetention", instant) }
}

extension StateTable {
    /// The last trial restore; nil before the first.
    package func lastRestoreCheck() throws -> RestoreCheckRecord? { try value("lastRestoreCheck") }

    /// Records a trial restore.
    package func setLastRestoreCheck(_ check: RestoreCheckRecord) throws { try setValue("lastRestoreCheck", check) }
}
