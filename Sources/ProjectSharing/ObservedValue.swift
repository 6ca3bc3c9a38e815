import Synchronization

/// A value that others watch: each of them gets the present one at once and every later one, the newest first of all where it is slow.
final class ObservedValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var watchers: [Int: AsyncStream<Value>.Continuation] = [:]
        var next = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    deinit {
        for watcher in state.withLock({ $0.watchers.values.map(\.self) }) { watcher.finish() }
    }

    var current: Value { state.withLock(\.value) }

    /// Changes the value and tells everybody.
    func change(_ body: (inout Value) -> Void) {
        state.withLock { state in
            body(&state.value)
            // Under the lock, so that two changes reach every watcher in their order; yielding to a stream only puts the value down.
            for watcher in state.watchers.values { watcher.yield(state.value) }
        }
    }

    /// The present value and those to come, until the watching task ends or the value's owner goes.
    func values() -> AsyncStream<Value> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                continuation.yield(state.value)
                state.watchers[state.next] = continuation
                state.next += 1
                return state.next - 1
            }
            continuation.onTermination = { [weak self] _ in
                self?.state.withLock { _ = $0.watchers.removeValue(forKey: number) }
            }
        }
    }
}
