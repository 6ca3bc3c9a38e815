import Synchronization

/// A value that is read when it is first asked for, and kept.
final class OnceValue<Value: Sendable>: Sendable {
    private let known = Mutex<Value?>(nil)

    /// The value. Two first calls side by side may both read it.
    func value(_ read: () async throws -> Value) async rethrows -> Value {
        if let value = known.withLock({ $0 }) { return value }
        let value = try await read()
        known.withLock { $0 = value }
        return value
    }
}
