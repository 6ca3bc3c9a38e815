import Synchronization

/// Wakes the one waiting task: any thread adds events, and the task takes all of them together.
final class WakeSignal: Sendable {
    /// An event since the last call of ``WakeSignal/take()``.
    enum Wake: Hashable, Sendable {
        /// A file of the database was written.
        case database
        /// A file of the database was written in a way that may have ended a transaction.
        case transaction
        case commit(Int)
        case message(from: String)
        case directory
        /// The gate's decision may have changed.
        case gate
    }

    private struct State {
        var wakes: Set<Wake> = []
        /// Whether the wait ends without an event: the time has passed, or the task was cancelled.
        var isPoked = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Adds an event and wakes the waiting task.
    func raise(_ wake: Wake) { change { $0.wakes.insert(wake) } }

    /// Returns all events and removes them.
    func take() -> Set<Wake> {
        state.withLock { state in
            defer { state.wakes = [] }
            return state.wakes
        }
    }

    /// Waits until there is an event, the time has passed, or the task is cancelled. It may also return without a reason.
    func wait(for duration: Duration, on clock: any Clock<Duration>) async {
        let alarm = Task { if (try? await clock.sleep(for: duration)) != nil { poke() } }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    let isDue = state.isPoked || !state.wakes.isEmpty
                    state.isPoked = false
                    if !isDue { state.waiter = continuation }
                    return isDue
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            poke()
        }
        alarm.cancel()
    }

    private func poke() { change { $0.isPoked = true } }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state in
            body(&state)
            if state.waiter != nil { state.isPoked = false }
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
