import LocalStore
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Runs `body`; should it fail, what went wrong is kept in the database for ``status()`` until a run ends well.
    ///
    /// Where the database cannot be written, nothing is kept: the error that is thrown says enough.
    func recorded<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as SyncError {
            // That the gate is closed is the user's will, or the entitlement's, and no failure of the run.
            if let decision = try? gate.standing(), decision != .open { throw error }
            if error.isSlip { throw error }
            try? database.note(
                RunFailure(at: now(), code: error.code.name, step: error.step?.rawValue, place: error.place, reason: error.reason, hint: error.hint))
            throw error
        }
    }
}

extension SyncContext {
    /// Records that a run of this kind has ended well, and how long it took up to here.
    func recordSuccess(_ kind: RunKind, in transaction: LocalTransaction) throws {
        let run = runUpToHere()
        try transaction.state.setLastSuccess(run.at)
        try transaction.state.setLastRun(kind, run)
    }

    /// Records that a run of this kind had nothing to do, without writing anything where that is possible.
    func recordIdleSuccess(_ kind: RunKind) throws {
        let idle = try database.read { transaction -> NoOpRunMarker? in
            // A first success, and one after a failure, change what the database says.
            guard kind == RunKind(of: settings.role), try transaction.state.lastFailure() == nil, try transaction.state.lastRun(kind) != nil else { return nil }
            return try transaction.state.applied().map { NoOpRunMarker(database: database.path, version: $0, kind: kind) }
        }
        if let idle, idle.write(runUpToHere()) { return }
        try database.write { try recordSuccess(kind, in: $0) }
    }

    private func runUpToHere() -> RunRecord {
        let took = elapsed().components
        return RunRecord(at: now(), microseconds: took.seconds * 1_000_000 + took.attoseconds / 1_000_000_000_000)
    }
}
