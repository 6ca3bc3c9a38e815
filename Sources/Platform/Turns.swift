import Synchronization

/// Lets a limited number of tasks do something at a time. The others wait as suspended tasks, in order of arrival, and hold no thread.
///
///     let turns = Turns(limit: 4)
///     try await turns.take()
///     defer { turns.give() }
package final class Turns: Sendable {
    private struct State {
        var takenCount = 0
        var nextID = 0
        /// The waiting tasks in order of arrival.
        var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the most turns that are taken at a time; at least 1.
    package init(limit: Int) { self.limit = limit }

    /// How many tasks wait for a turn.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Takes a turn, after waiting for it if need be.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits.
    package func take() async throws { if !takeFree() { try await wait() } }

    /// Passes the turn to the task that has waited longest, or frees it.
    package func give() { if !free() { passOn() } }

    private func takeFree() -> Bool {
        state.withLock { state in
            guard state.takenCount < limit else { return false }
            state.takenCount += 1
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
                let isTaken: Bool? = state.withLock { state -> Bool? in
                    // Check under the lock: a later cancellation finds the continuation in the list.
                    guard !Task.isCancelled else { return false }
                    guard state.takenCount >= limit else {
                        state.takenCount += 1
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                switch isTaken {
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

    /// Frees the turn if no task waits for it.
    private func free() -> Bool {
        state.withLock { state in
            if state.waiting.isEmpty { state.takenCount -= 1 }
            return state.waiting.isEmpty
        }
    }

    private func passOn() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst().continuation }
            // The task that waited was cancelled meanwhile.
            state.takenCount -= 1
            return nil
        }
        next?.resume()
    }
}
