import Synchronization

/// Sends values to all listeners.
package final class Broadcast<Value: Sendable>: Sendable {
    private struct State {
        var listeners: [Int: AsyncStream<Value>.Continuation] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Sends a value to each listener.
    package func send(_ value: Value) {
        for listener in state.withLock({ Array($0.listeners.values) }) { listener.yield(value) }
    }

    /// Returns a stream of every value from now on. For a slow listener only the newest value is kept. Each call makes a separate stream.
    package func listen() -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.next += 1
            state.listeners[state.next] = continuation
            return state.next
        }
        continuation.onTermination = { [weak self] _ in _ = self?.state.withLock { $0.listeners.removeValue(forKey: id) } }
        return stream
    }
}
