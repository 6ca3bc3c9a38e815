import LocalStore
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Runs `body`. If it fails, the database keeps the error for ``status()`` until a run succeeds.
    ///
    /// If the database cannot be written either, nothing is kept: the thrown error says enough.
    func recorded<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as SyncError {
            // The user or the entitlement closed the gate: this is not a failure of the run.
            if let decision = try? gate.standing(), decision != .open { throw error }
            if error.isSlip { throw error }
            try? database.note(
                RunFailure(at: now(), code: error.code.name, step: error.step?.rawValue, place: error.place, reason: error.reason, hint: error.hint))
            throw error
        }
    }
}

extension SyncContext {
    /// Records that a run of this kind succeeded, and its duration so far.
    func recordSuccess(_ kind: RunKind, in transaction: LocalTransaction) throws {
        let run = runUpToHere()
        try transaction.state.setLastSuccess(run.at)
        try transaction.state.setLastRun(kind, run)
    }

    /// Records that a run of this kind succeeded with nothing to do. Avoids writing to the database if possible.
    func recordIdleSuccess(_ kind: RunKind) throws {
        // The first success, and a success after a failure, change the database's state and must be written to it.
        let isKnown = try database.read { transaction in
            try kind == RunKind(of: settings.role) && transaction.state.lastFailure() == nil && transaction.state.lastRun(kind) != nil
        }
        if isKnown {
            let run = runUpToHere()
            if RunLock.setLastIdleRun(run.at.advanced(byMicroseconds: -run.microseconds), of: database.path) { return }
        }
        try database.write { try recordSuccess(kind, in: $0) }
    }

    private func runUpToHere() -> RunRecord {
        let took = elapsed().components
        return RunRecord(at: now(), microseconds: took.seconds * 1_000_000 + took.attoseconds / 1_000_000_000_000)
    }
}
