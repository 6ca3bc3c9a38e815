import Foundation
import Platform

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
    package static func host<T>(_ body: () async throws -> T) async rethrows -> T {
        try await withTaskExecutorPreference(BlockingExecutor.shared, operation: body)
    }

    /// Runs `body` in parallel, once for each number from 0 up to `count`, while `meanwhile` runs on this thread.
    ///
    /// Returns when all calls have ended and released what `body` captures. The calls must end by themselves when `meanwhile` fails.
    package static func run<T>(_ count: Int, _ body: @escaping @Sendable (Int) -> Void, while meanwhile: () throws -> T) rethrows -> T {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            let work = Work { body(number) }
            start {
                work.run()
                group.leave()
            }
        }
        defer { group.wait() }
        return try meanwhile()
    }

    /// The work of one thread. It runs once and releases its captures before it reports that it is done.
    ///
    /// The thread itself ends a moment later. Captures that it still held would be released on that thread: it would finalise a statement while
    /// another thread uses the same connection.
    private final class Work: @unchecked Sendable {
        // SAFETY: created on one thread, then used only by the thread that it is handed to.
        private var body: (@Sendable () -> Void)?

        init(_ body: @escaping @Sendable () -> Void) { self.body = body }

        @inline(never) func run() { body.take()?() }
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 1 << 20
        thread.name = "snapsync"
        thread.start()
    }
}

/// Executor whose threads may block.
private final class BlockingExecutor: TaskExecutor {
    static let shared = BlockingExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        BlockingThreads.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
