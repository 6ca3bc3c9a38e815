import Foundation

/// Passes items from many workers to one consumer in the order of their numbers; at most `window` items wait.
///
/// A worker that is too far ahead waits; the worker with the next number never does. The first error on any side ends the queue for all.
package final class OrderedQueue<Item>: @unchecked Sendable {
    // SAFETY: the stored properties are accessed only under `condition`; each item is owned by one thread at a time.
    private let condition = NSCondition()
    private let window: Int
    private var waiting: [Int: Item] = [:]
    private var next = 0
    private var claimed = 0
    private var end: Int?
    private var failure: (any Error)?

    /// A queue that holds at most `window` items.
    package init(window: Int) { self.window = max(1, window) }

    /// Claims the next item and returns its number; nil if all are claimed or the queue has ended.
    ///
    /// - Parameter limit: the total number of items.
    package func claim(below limit: Int) -> Int? {
        condition.withLock {
            while failure == nil, claimed < limit, claimed >= next + window { condition.wait() }
            guard failure == nil, claimed < limit else { return nil }
            claimed += 1
            return claimed - 1
        }
    }

    /// Puts item `number` into the queue. Returns false if the queue has ended, so the item is not needed.
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

    /// Declares that no item has this number or a greater one.
    package func finish(at number: Int) {
        condition.withLock {
            end = min(end ?? number, number)
            condition.broadcast()
        }
    }

    /// Ends the queue for all; the consumer's next call throws `error`. If several errors occur, the first one counts.
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
