import Foundation
import Synchronization

/// Lets blocking code wait for asynchronous operations.
///
/// The operations run on two threads of their own. They therefore make progress however many threads wait for them, and need neither the
/// threads of Swift's tasks nor Dispatch's.
final class AsyncBridge: TaskExecutor {
    static let shared = AsyncBridge()

    private let condition = NSCondition()
    // SAFETY: used only under `condition`.
    private nonisolated(unsafe) var jobs: [UnownedJob] = []

    private init() {
        for number in 1...2 {
            let thread = Thread { [unowned self] in while true { next().runSynchronously(on: asUnownedTaskExecutor()) } }
            thread.name = "snapsync.cloudkit.\(number)"
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    private func next() -> UnownedJob {
        condition.withLock {
            while jobs.isEmpty { condition.wait() }
            return jobs.removeFirst()
        }
    }

    /// Waits for an operation, which must not block itself. The calling thread blocks.
    func wait<T: Sendable>(for operation: @escaping @Sendable () async throws(CloudKitError) -> T) throws(CloudKitError) -> T {
        let done = DispatchSemaphore(value: 0), result = Mutex<Result<T, CloudKitError>?>(nil)
        Task.detached(executorPreference: self) {
            let outcome: Result<T, CloudKitError>
            do throws(CloudKitError) { outcome = .success(try await operation()) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        // The task sets the result before it signals.
        guard let outcome = result.withLock({ $0 }) else { throw CloudKitError(.internalError, "there is no outcome") }
        return try outcome.get()
    }
}
