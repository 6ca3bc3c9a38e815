import Synchronization

/// Runs pieces of work one after another, in the order in which they were enqueued.
final class SerialCalls: Sendable {
    private let last = Mutex<Task<Void, Never>?>(nil)

    /// Starts `work` after all work that was enqueued before.
    func enqueue(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last
            last = Task {
                await before?.value
                await work()
            }
        }
    }

    /// Enqueues `work` and returns its result.
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
