import Foundation

/// Hands items from many workers to one consumer in the order of their numbers, a bounded number of them ahead.
///
/// A worker that is too far ahead waits; the one whose number is next never does. The first error, by whomever, ends
/// the queue for all.
package final class OrderedQueue<Item>: @unchecked Sendable {
    // SAFETY: every access to the stored properties holds `condition`; items are owned by one thread at a time.
    private let condition = NSCondition()
    private let window: Int
    private var waiting: [Int: Item] = [:]
    private var next = 0
    private var claimed = 0
    private var end: Int?
    private var failure: (any Error)?

    /// A queue that holds at most `window` items.
    package init(window: Int) { self.window = max(1, window) }

    /// Returns the number of the next item to make, or nil if all are made or the queue has ended.
    ///
    /// - Parameter limit: how many there are in all.
    package func claim(below limit: Int) -> Int? {
        condition.withLock {
            while failure == nil, claimed < limit, claimed >= next + window { condition.wait() }
            guard failure == nil, claimed < limit else { return nil }
            claimed += 1
            return claimed - 1
        }
    }

    /// Puts item `number` in. Returns false if the queue has ended, for then nobody wants it.
    @discardableResult
    package func put(_ item: Item, at number: Int) -> Bool {
        condition.withLock {
            while failure == nil, number >= next + window { condition.wait() }
            guard failure == nil else { return false }
            waiting[number] = item
            condition.broadcast()
            return true
        }
    }

    /// Says that no item has `number` or a greater one.
    package func finish(at number: Int) {
        condition.withLock {
            end = min(end ?? number, number)
            condition.broadcast()
        }
    }

    /// Ends the queue for all; the consumer's next call throws `error`. The first error stands.
    package func fail(_ error: any Error) {
        condition.withLock {
            failure = failure ?? error
            condition.broadcast()
        }
    }

    /// Returns the next item in order, or nil after the last.
    package func take() throws -> Item? {
        try condition.withLock {
            while failure == nil, waiting[next] == nil, end.map({ next < $0 }) ?? true { condition.wait() }
            if let failure { throw failure }
            guard let item = waiting.removeValue(forKey: next) else { return nil }
            next += 1
            condition.broadcast()
            return item
        }
    }
}
