import Synchronization

/// What wakes the one task that waits: events put in from anywhere, taken out together.
final class WakeSignal: Sendable {
    /// What happened since the last look.
    enum Wake: Hashable, Sendable {
        case database
        case commit(Int)
        case message(from: String)
        case directory
        /// What the gate rests on may be another thing now.
        case gate
    }

    private struct State {
        var wakes: Set<Wake> = []
        /// Whether the waiting shall end although nothing happened: time is up, or the task was cancelled.
        var isPoked = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Notes something and wakes whoever waits.
    func raise(_ wake: Wake) { change { $0.wakes.insert(wake) } }

    /// Takes everything that was noted.
    func take() -> Set<Wake> {
        state.withLock { state in
            defer { state.wakes = [] }
            return state.wakes
        }
    }

    /// Waits until something is noted, the time has passed, or the task is cancelled. It may also return for no reason.
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
