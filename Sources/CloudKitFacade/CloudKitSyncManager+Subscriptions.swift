import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import Synchronization

extension CloudKitSyncManager {
    /// From now on syncs as soon as the cloud shows that other devices have published or sent messages, until ``stopSubscriptions()``.
    ///
    /// - Parameters:
    ///   - interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``).
    ///   - imported: called after each import that changed something, on any thread. ``SyncEngine/changeNotices(keyLimit:)`` reports what
    ///     messages changed.
    public func startSubscriptions(every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        try await call { try await self.subscribe($0, every: interval, imported: imported) }
    }

    /// Ends the subscription of ``startSubscriptions(every:imported:)`` or ``setupSubscriptions(completion:)``.
    public func stopSubscriptions() {
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = nil
        }
    }

    func subscribe(_ engine: SyncEngine, every interval: Duration = .seconds(2), imported: (@Sendable (ImportReport) -> Void)? = nil) async throws {
        let hints = try await engine.hints(every: interval)
        let task = Task { [weak self] in
            // Import at once what was published before the first hint was requested.
            await self?.syncNews(imported)
            for await _ in hints { await self?.syncNews(imported) }
        }
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = task
        }
    }

    /// Syncs once after a hint. If the sync fails, ``lastError`` says why, and the next hint tries again.
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
