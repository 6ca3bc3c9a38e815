package import SnapshotModel
package import StrictText

extension StateTable {
    /// When the last run of the role's work ended well.
    package func lastSuccess() throws -> Instant? { try plainValue("lastSuccess") }

    /// Records that the role's work has ended well, and forgets what went wrong before.
    package func setLastSuccess(_ instant: Instant) throws {
        try setPlainValue("lastSuccess", instant)
        try setLastFailure(nil)
    }

    /// Since when this reader's messages cannot be sent; nil if they can.
    package func unsentSince() throws -> Instant? { try plainValue("unsentSince") }

    /// Records since when messages cannot be sent.
    package func setUnsentSince(_ instant: Instant?) throws { try setPlainValue("unsentSince", instant) }

    /// What went wrong in the last run; nil if it ended well.
    package func lastFailure() throws -> RunFailure? { try value("lastFailure") }

    /// Records, or forgets, what went wrong.
    package func setLastFailure(_ failure: RunFailure?) throws { try setValue("lastFailure", failure) }

    /// The last run of a kind that ended well; nil before the first.
    package func lastRun(_ kind: RunKind) throws -> RunRecord? { try plainValue(kind.rawValue) }

    /// Records a run that ended well.
    package func setLastRun(_ kind: RunKind, _ run: RunRecord) throws { try setPlainValue(kind.rawValue, run) }

    /// The last run of the role's own work that had nothing to do and left its marker on the lock file; nil if a run recorded here came later.
    package func lastIdleRun(of role: SyncRole) throws -> (at: Instant, microseconds: Int64?)? {
        let kind = RunKind(of: role)
        guard let version = try applied(), let idle = NoOpRunMarker(database: path, version: version, kind: kind).read() else { return nil }
        if let noted = try lastRun(kind), noted.at >= idle.at { return nil }
        return idle
    }

    /// When versions were last removed automatically, or that was tried; nil before the first time.
    package func lastRetention() throws -> Instant? { try plainValue("lastRetention") }

    /// Records when versions were last removed automatically.
    package func setLastRetention(_ instant: Instant) throws { try setPlainValue("lastRetention", instant) }
}

extension StateTable {
    /// The last trial restore; nil before the first.
    package func lastRestoreCheck() throws -> RestoreCheckRecord? { try value("lastRestoreCheck") }

    /// Records a trial restore.
    package func setLastRestoreCheck(_ check: RestoreCheckRecord) throws { try setValue("lastRestoreCheck", check) }
}
