/// Runs blocking calls on threads of their own, with a limit on how many run at a time.
///
///     let calls = BlockingCalls(limit: 8)
///     let bytes = try await calls.run { try read(file) }
///
/// The threads that Swift's tasks share must not block. A call beyond the limit waits as a suspended task and needs no thread. So if calls to a
/// hung mount never return, the rest of the process still has Dispatch's threads. A waiting call ends with `CancellationError` when its task is
/// cancelled; a running call runs to its end.
package final class BlockingCalls: Sendable {
    private let turns: Turns

    /// - Parameter limit: the most calls that run at a time; at least 1.
    package init(limit: Int) { turns = Turns(limit: limit) }

    /// How many calls wait for a free thread.
    package var waitingCount: Int { turns.waitingCount }

    /// Runs `body` on a thread that may block: the one of the calling task, if it is of that kind. When this returns, the thread holds nothing of what `body` captures or returns.
    ///
    /// - Throws: what `body` throws; `CancellationError` if the task is cancelled while the call waits.
    package func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await turns.take()
        if BlockingExecutor.isCurrent {
            defer { turns.give() }
            return try body()
        }
        let work = OneTimeWork { [turns] in
            defer { turns.give() }
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
}
