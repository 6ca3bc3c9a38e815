import Foundation

/// Lets workers take turns at something that they share; after the first error nobody's turn comes again.
///
/// What a failed turn leaves behind is half done. A worker that went on from there could take the broken part for a whole
/// one, or its end for the end of everything, before the first error has reached the one who waits for the result.
final class FailFastMutex: @unchecked Sendable {
    // SAFETY: `failure` is touched under `lock` only.
    private let lock = NSLock()
    private var failure: (any Error)?

    /// Runs `body` while no other turn runs.
    ///
    /// - Throws: what `body` throws, now and at every later turn.
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

    /// Looks at what the turns share, even after an error.
    func look<T>(_ body: () -> T) -> T { lock.withLock(body) }
}
