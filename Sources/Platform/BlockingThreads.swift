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

    private static func queue() -> DispatchQueue? {
        state.withLock { state in
            if let queue = state.idle.popLast() { return queue }
            guard state.queueCount < dispatchLimit else { return nil }
            state.queueCount += 1
            return DispatchQueue(label: "snapsync.blocking")
        }
    }
}
