import LocalStore
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import Synchronization

extension CloudKitSyncManager {
    /// From now on imports what others publish, as soon as the cloud shows it, until ``stopSubscriptions()``.
    ///
    /// - Parameters:
    ///   - interval: how long to wait between two looks at the cloud.
    ///   - imported: called after each import that changed something, on no particular thread.
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
            await self?.importNew(imported)
            for await _ in hints { await self?.importNew(imported) }
        }
        state.withLock { state in
            state.subscription?.cancel()
            state.subscription = task
        }
    }

    /// A hint only wakes; where the import fails, the next one tries again, and ``lastError`` says why.
    private func importNew(_ imported: (@Sendable (ImportReport) -> Void)?) async {
        let report: ImportReport?
        do {
            report = try await call { engine -> ImportReport? in
                let role = try engine.database.read(at: .open) { try $0.settings.read().role }
                // A writer has what it published; a peer merges.
                return role == .writer ? nil : try await engine.importNewest()
            }
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
