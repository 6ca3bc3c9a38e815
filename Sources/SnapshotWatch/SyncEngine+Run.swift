public import CloudStore
public import Foundation
import LocalStore
public import SnapshotEngine
import SnapshotVersions
import StrictText

/// What an engine's syncing is doing now. `SyncModel` of the module SnapshotObservation is the observable form.
public enum SyncState: Sendable {
    /// Sync is off: the user has not turned it on, is not entitled, or is not signed in.
    case off
    /// No run is active, and the last one did not fail. `last` is the time of the last successful run, even before this program was started.
    case idle(last: Date?)
    case syncing
    /// The last run failed. A watch tries again.
    case failed(PresentableError)
}

extension SyncEngine {
    /// Syncs now and after every change of the database or the zone, until the task is cancelled (``SyncWatcher``).
    ///
    ///     let task = Task { try await sync.run() }
    ///
    /// - Parameter tell: gets what happens, on any thread.
    /// - Throws: ``SyncError`` if the database cannot be read at the beginning. Later errors do not end it; ``state`` has them.
    public func run(_ options: WatchOptions = WatchOptions(), telling tell: @escaping @Sendable (WatchEvent) -> Void = { _ in }) async throws {
        try await SyncWatcher(engine: self, options: options).run(tell)
    }

    /// What this engine's syncing is doing now. Reads the database, but not the location.
    public var state: SyncState {
        if activity.isRunning { return .syncing }
        do {
            guard try gate.standing() == .open else { return .off }
            if let failure = activity.failure { return .failed(failure) }
            let last = try database.read { try $0.state.lastSuccess(of: $0.settings.read().role) }
            return .idle(last: last.map { Date(timeIntervalSince1970: Double($0.microseconds) / 1_000_000) })
        } catch {
            return .failed(PresentableError(error, in: .preferred))
        }
    }
}
