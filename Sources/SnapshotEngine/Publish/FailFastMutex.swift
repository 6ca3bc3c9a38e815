import Foundation

/// Lets workers take turns at a shared value. After the first error, every later turn fails.
///
/// A failed turn leaves the value half changed. A worker that continued could mistake a broken part for a whole one, or the end of that part for
/// the end of all data, before the first error reaches the thread that waits for the result.
final class FailFastMutex: @unchecked Sendable {
    // SAFETY: `failure` is touched under `lock` only.
    private let lock = NSLock()
    private var failure: (any Error)?

    /// Runs `body` while no other turn runs.
    ///
    /// - Throws: what `body` throws, and the same error at every later turn.
    func take<T>(_ body: () throws -> T) throws -> T {
        try lock.withLock {
            if let failure { throw failure }
            do {
                return try body()
            } catch {
                failure = error
                throw error
            }
        }
    }

    /// Reads the shared value, even after an error.
    func look<T>(_ body: () -> T) -> T { lock.withLock(body) }
}
