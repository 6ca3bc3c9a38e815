import Synchronization

/// Passes the newest value to the main actor, even if values arrive faster than it can show them. Older values are dropped.
final class MainActorRelay<Value: Sendable>: Sendable {
    private let pending = Mutex<Value?>(nil)
    private let show: @MainActor @Sendable (Value) -> Void

    init(_ show: @escaping @MainActor @Sendable (Value) -> Void) { self.show = show }

    /// Shows a value soon. Any thread may call it.
    func send(_ value: Value) {
        let isFirst = pending.withLock { pending in
            defer { pending = value }
            return pending == nil
        }
        guard isFirst else { return }
        Task { @MainActor in
            if let value = pending.withLock({ $0.take() }) { show(value) }
        }
    }
}
