import Foundation
import Synchronization

/// Lets blocking code wait for asynchronous operations.
///
/// They run on two threads of their own, so that they go on however many threads wait for them: neither the threads that Swift's tasks share nor
/// Dispatch's are needed.
final class AsyncBridge: TaskExecutor {
    static let shared = AsyncBridge()

    private let condition = NSCondition()
    // SAFETY: used under `condition` alone.
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

    /// Waits for an operation, which must not block. The calling thread blocks.
    func wait<T: Sendable>(for operation: @escaping @Sendable () async throws(CloudKitError) -> T) throws(CloudKitError) -> T {
        let done = DispatchSemaphore(value: 0), result = Mutex<Result<T, CloudKitError>?>(nil)
        Task.detached(executorPreference: self) {
            let outcome: Result<T, CloudKitError>
            do throws(CloudKitError) { outcome = .success(try await operation()) } catch { outcome = .failure(error) }
            result.withLock { $0 = outcome }
            done.signal()
        }
        done.wait()
        // Set before the signal.
        guard let outcome = result.withLock({ $0 }) else { throw CloudKitError(.internalError, "there is no outcome") }
        return try outcome.get()
    }
}
