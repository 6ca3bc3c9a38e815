import Synchronization

/// Counts from 1, whoever asks.
package final class Counter: Sendable {
    private let count = Mutex(0)

    package init() {}

    package var value: Int { count.withLock { $0 } }

    package func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }

    package func reset() { count.withLock { $0 = 0 } }
}
