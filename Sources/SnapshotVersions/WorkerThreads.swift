import Foundation
import Platform
import StrictText

/// Threads for blocking work.
///
/// Reading bytes and rows is synchronous. It runs here, because it would starve the threads that Swift's tasks share.
package enum WorkerThreads {
    /// Number of workers for a transfer: one per core.
    package static var count: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    /// Runs an asynchronous `body` whose code may block. All of it that is not bound to an actor runs on threads that Swift's tasks do not
    /// share.
    ///
    ///     public func status() async throws -> StatusReport { try await WorkerThreads.host { … } }
    ///
    /// SQLite waits up to 10 s for another program's lock. Child tasks run there, too; unstructured tasks do not.
    ///
    /// - Throws: ``SyncError``, made of what `body` throws; `CancellationError`.
    package static func host<T>(_ body: () async throws -> T) async rethrows -> T {
        do {
            return try await withTaskExecutorPreference(BlockingExecutor.shared, operation: body)
        } catch {
            throw error is CancellationError ? error : SyncError(error)
        }
    }
}
