import Synchronization

/// A value that is read at the first request and cached.
final class OnceValue<Value: Sendable>: Sendable {
    private let known = Mutex<Value?>(nil)

    /// Returns the cached value, and reads it first if necessary. Two concurrent first calls may both read it.
    func value(_ read: () async throws -> Value) async rethrows -> Value {
        if let value = known.withLock({ $0 }) { return value }
        let value = try await read()
        known.withLock { $0 = value }
        return value
    }
}
