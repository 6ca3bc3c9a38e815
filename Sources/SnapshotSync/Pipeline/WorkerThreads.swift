import Foundation

/// Threads that do blocking work side by side.
///
/// Bytes and rows are synchronous; they run here and not on the executor of Swift's tasks, which they would starve.
enum WorkerThreads {
    /// How many workers share a transfer: one per core.
    static var count: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }

    /// Runs `body` on a thread of its own and waits for it without blocking the caller's executor.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Runs `body` once for each number from 0 up to `count`, side by side, while `meanwhile` runs on this thread.
    ///
    /// Returns when all have ended. The bodies must end by themselves when `meanwhile` fails.
    static func run<T>(_ count: Int, _ body: @escaping @Sendable (Int) -> Void, while meanwhile: () throws -> T) rethrows -> T {
        let group = DispatchGroup()
        for number in 0..<count {
            group.enter()
            start {
                body(number)
                group.leave()
            }
        }
        defer { group.wait() }
        return try meanwhile()
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 1 << 20
        thread.name = "snapsync"
        thread.start()
    }
}
