import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import Synchronization

extension CloudKitSyncManager {
    /// From now on syncs whenever others have published or sent messages, as soon as the cloud shows it, until ``stopSubscriptions()``.
    ///
    /// - Parameters:
    ///   - interval: how long to wait between two looks at a cloud that reports no events (``RecordDatabase/events(in:_:)``).
    ///   - imported: called after each import that changed something, on no particular thread. What messages changed is told by
    ///     ``SyncEngine/changeNotices(keyLimit:)``.
    public func startSubscriptions(every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        try await call { try await self.subscribe($0, every: interval, imported: imported) }
    }

    /// Ends what ``startSubscriptions(every:imported:)`` or ``setupSubscriptions(completion:)`` began.
    public func stopSubscriptions() {
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = nil
        }
    }

    func subscribe(_ engine: SyncEngine, every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        let hints = try await engine.hints(every: interval)
        let task = Task { [weak self] in
            // What came before the first hint was asked for is imported at once.
            await self?.syncNews(imported)
            for await _ in hints { await self?.syncNews(imported) }
        }
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = task
        }
    }

    /// A hint only wakes; where the sync fails, the next one tries again, and ``lastError`` says why.
    private func syncNews(_ imported: (@Sendable (ImportReport) -> Void)?) async {
        let report: ImportReport?
        do {
            report = try await call(Self.fetching)
        } catch let error as SyncError where error.code == .nothingThere {
            // Nothing has been published yet.
            state.withLock { $0.lastError = nil }
            return
        } catch {
            return
        }
        if let report, report.applied { imported?(report) }
    }
}
