import Synchronization

/// Runs one piece of work after another, in the order in which they were given, whoever gives them.
final class SerialCalls: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Begins `work` when all that was given before has ended. The order is that of the calls of this method.
    func enqueue(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last
            last = Task {
                await before?.value
                await work()
            }
        }
    }

    /// Awaits `work`, which begins when all that was given before has ended.
    func run<T: Sendable>(_ work: @escaping @Sendable () async throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            enqueue {
                do {
                    continuation.resume(returning: try await work())
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }
}
