import Synchronization

/// A value with watchers. Each watcher gets the present value at once, and then every later one; a slow watcher gets only the newest.
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

    /// Changes the value and notifies all watchers.
    func change(_ body: (inout Value) -> Void) {
        state.withLock { state in
            body(&state.value)
            // Yield while holding the lock, so that every watcher gets two changes in order. Yielding only stores the value, so it does not
            // block.
            for watcher in state.watchers.values { watcher.yield(state.value) }
        }
    }

    /// The present value and all later ones, until the watching task ends or the value's owner is released.
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

/// The load state of a list, for a screen that shows it.
public enum LoadState: String, Sendable, Encodable, CaseIterable {
    /// Not loaded yet, or loading failed and there is nothing to show.
    case inactive
    /// Being loaded, for the first time or again.
    case loading
    /// Loaded, with content.
    case success
    /// Loaded, without content.
    case noResults
}
