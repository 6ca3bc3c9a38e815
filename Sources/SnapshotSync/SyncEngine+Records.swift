import LocalStore
import StrictText

extension SyncEngine {
    /// Runs `body`; should it fail, what went wrong is kept in the database for ``status()`` until a run ends well.
    ///
    /// Where the database cannot be written, nothing is kept: the error that is thrown says enough.
    func recorded<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as SyncError {
            try? database.note(RunFailure(at: now(), code: error.code.name, step: error.step?.rawValue, place: error.place, reason: error.reason, hint: error.hint))
            throw error
        }
    }
}

extension Device {
    /// Records that a run of this kind has ended well, and how long it took up to here.
    func noteSuccess(_ kind: RunKind, in transaction: LocalTransaction) throws {
        let end = now()
        let took = (ContinuousClock.now - begun).components
        try transaction.setLastSuccess(end)
        try transaction.setLastRun(kind, RunRecord(at: end, microseconds: took.seconds * 1_000_000 + took.attoseconds / 1_000_000_000_000))
    }
}
