import Foundation

/// Threads for blocking work.
///
/// Bytes and rows are synchronous; they run here and not on the threads that Swift's tasks share, which they would starve.
package enum WorkerThreads {
    /// How many workers share a transfer: one per core.
    package static var count: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    /// Runs an asynchronous `body` whose own code may block: all of it that is bound to no actor runs on threads that Swift's tasks do not share.
    ///
    ///     public func status() async throws -> StatusReport { try await WorkerThreads.host { … } }
    ///
    /// SQLite waits for another program's lock up to 10 s. Child tasks run there, too; unstructured ones do not.
    package static func host<T>(_ body: () async throws -> T) async rethrows -> T {
        try await withTaskExecutorPreference(BlockingExecutor.shared, operation: body)
    }

    /// Runs `body` once for each number from 0 up to `count`, side by side, while `meanwhile` runs on this thread.
    ///
    /// Returns when all have ended and let go of what `body` holds. The bodies must end by themselves when `meanwhile` fails.
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

    /// What a thread does, once, and forgets before it says that it is done.
    ///
    /// A thread outlives its last word by a moment. What it still held then would go on that thread: a statement would be
    /// finalised beside another thread's use of its connection.
    private final class Work: @unchecked Sendable {
        // SAFETY: made on one thread, then used by the thread that it is given to.
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

/// Runs tasks on threads that may block.
private final class BlockingExecutor: TaskExecutor {
    static let shared = BlockingExecutor()

    private let queue = DispatchQueue(label: "snapsync.engine", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
