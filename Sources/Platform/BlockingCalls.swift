import Synchronization

/// Runs blocking calls on threads of their own, with a limit on how many run at a time.
///
///     let calls = BlockingCalls(limit: 8)
///     let bytes = try await calls.run { try read(file) }
///
/// The threads that Swift's tasks share must not block. A call beyond the limit waits as a suspended task and needs no thread. So if calls to a
/// hung mount never return, the rest of the process still has Dispatch's threads. A waiting call ends with `CancellationError` when its task is
/// cancelled; a running call runs to its end.
package final class BlockingCalls: Sendable {
    private struct State {
        var runningCount = 0
        var nextID = 0
        /// The waiting calls in order of arrival.
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the most calls that run at a time; at least 1.
    package init(limit: Int) { self.limit = limit }

    /// How many calls wait for a free thread.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` on a thread that may block. When this returns, the thread holds nothing of what `body` captures or returns.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while the call waits.
    package func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        if !begin() { try await wait() }
        let work = OneTimeWork {
            defer { self.end() }
            return try body()
        }
        await withCheckedContinuation { continuation in
            BlockingThreads.run {
                work.run()
                continuation.resume()
            }
        }
        return try work.outcome()
    }

    /// Reserves a thread if the limit permits it.
    private func begin() -> Bool {
        state.withLock { state in
            guard state.runningCount < limit else { return false }
            state.runningCount += 1
            return true
        }
    }

    private func wait() async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isRunning: Bool? = state.withLock { state -> Bool? in
                    // Check under the lock: a later cancellation finds the continuation in the list.
                    guard !Task.isCancelled else { return false }
                    guard state.runningCount >= limit else {
                        state.runningCount += 1
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                switch isRunning {
                case true?: continuation.resume()
                case false?: continuation.resume(throwing: CancellationError())
                case nil: break
                }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0).continuation }
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    /// Passes the thread to the call that has waited longest, or releases it.
    private func end() {
        if !release() { passOn() }
    }

    /// Releases a thread if no call waits for it.
    private func release() -> Bool {
        state.withLock { state in
            if state.waiting.isEmpty { state.runningCount -= 1 }
            return state.waiting.isEmpty
        }
    }

    // A function of its own: what a continuation needs of Swift's runtime costs half a million instructions once, and most runs have no call that
    // waits.
    @inline(never) private func passOn() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            // The call that waited was cancelled meanwhile.
            state.runningCount -= 1
            return nil
        }
        next?.resume()
    }
}
