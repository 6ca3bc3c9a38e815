import Dispatch
import Foundation
import Synchronization

/// Threads for work that may block, as many as there is work.
///
/// Each piece of work has a serial queue, because Dispatch gives every one of those a thread at once. The work of a concurrent queue runs on the
/// threads that Swift's tasks share, one for each processor. On Linux, these become one more a second while they block: an application whose
/// threads wait for two locks would run no task for as long.
package enum BlockingThreads {
    /// How many threads Dispatch is asked for. It has 255 at most for everybody; more work than this has threads that end with it.
    private static let dispatchLimit = 128

    private struct State {
        var queueCount = 0
        /// The queues whose work has ended.
        var idle: [DispatchQueue] = []
    }

    private static let state = Mutex(State())

    /// Runs `body` on a thread of its own.
    package static func run(_ body: @escaping @Sendable () -> Void) {
        guard let queue = queue() else { return Thread.detachNewThread(body) }
        queue.async {
            body()
            state.withLock { $0.idle.append(queue) }
        }
    }

    /// Runs `body` in parallel, once for each number from 0 up to `count`, while `meanwhile` runs on this thread.
    ///
    /// Returns when all calls have ended and released what `body` captures. The calls must end by themselves when `meanwhile` fails.
    package static func run<T>(_ count: Int, _ body: @escaping @Sendable (Int) -> Void, while meanwhile: () throws -> T) rethrows -> T {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            let work = OneTimeWork { body(number) }
            start {
                work.run()
                group.leave()
            }
        }
        defer { group.wait() }
        return try meanwhile()
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 1 << 20
        thread.name = "snapsync"
        thread.start()
    }

    private static func queue() -> DispatchQueue? {
        state.withLock { state in
            if let queue = state.idle.popLast() { return queue }
            guard state.queueCount < dispatchLimit else { return nil }
            state.queueCount += 1
            return DispatchQueue(label: "snapsync.blocking")
        }
    }
}

/// Executor whose threads may block.
package final class BlockingExecutor: TaskExecutor {
    package static let shared = BlockingExecutor()

    /// Whether the calling task runs here.
    static var isCurrent: Bool { withUnsafeCurrentTask { $0?.unownedTaskExecutor == shared.asUnownedTaskExecutor() } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        BlockingThreads.run { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Work that runs once, on another thread.
///
/// It releases what it captures before its outcome is known, and gives its outcome away. A thread ends a moment after it has answered. What it
/// still held would be released there: it would close a file that the one who got the answer takes for closed, or finalise a statement while
/// another thread uses the same connection.
package final class OneTimeWork<T>: @unchecked Sendable {
    // SAFETY: used by one thread at a time: the one that creates it, the one that runs it, and then the one that waited for that.
    private var body: (@Sendable () throws -> T)?
    private var result: Result<T, any Error>?
    /// Both threads pass it with the result, for ThreadSanitizer: the runtime does not tell it of a task that was resumed before it waited.
    private let handover = Mutex(false)

    package init(_ body: @escaping @Sendable () throws -> T) { self.body = body }

    /// Runs the work. A second call does nothing.
    @inline(never) package func run() {
        guard let body = body.take() else { return }
        result = Result(catching: body)
        handover.withLock { $0 = true }
    }

    /// What the work returned or threw. Call it once, after the work has run.
    package func outcome() throws -> T {
        precondition(handover.withLock { $0 }, "the work has not run")
        return try result.take()!.get()
    }
}

/// Runs blocking calls on threads of their own, because the threads that Swift's tasks share must not block.
///
///     let bytes = try await BlockingCalls.run { try read(file) }
package enum BlockingCalls {
    /// Runs `body` on a thread that may block: the one of the calling task, if it is of that kind. When this returns, the thread holds nothing of what `body` captures or returns.
    ///
    /// - Throws: what `body` throws.
    package static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        if BlockingExecutor.isCurrent { return try body() }
        let work = OneTimeWork(body)
        await withCheckedContinuation { continuation in
            BlockingThreads.run {
                work.run()
                continuation.resume()
            }
        }
        return try work.outcome()
    }
}
