import Platform
import SnapshotModel
import Synchronization
import Testing

@testable import SnapshotVersions

@Suite struct OrderedQueueTests {
    private struct Failure: Error, Equatable { let number: Int }

    @Test(arguments: UInt64(1)...40) func itemsComeInOrderAndNeverTooFarAhead(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let count = random.below(300), workers = 1 + random.below(6), window = 1 + random.below(8)
        let queue = OrderedQueue<Int>(window: window)
        let taken = Mutex(0), farthest = Mutex(0)
        queue.finish(at: count)
        let items: [Int] = try BlockingThreads.run(
            workers,
            { _ in
                while let number = queue.claim(below: count) {
                    let ahead = number - taken.withLock { $0 }
                    farthest.withLock { $0 = max($0, ahead) }
                    guard queue.put(number * 10, at: number) else { return }
                }
            }
        ) {
            var items: [Int] = []
            while let item = try queue.take() {
                items.append(item)
                taken.withLock { $0 += 1 }
            }
            return items
        }
        #expect(items == (0..<count).map { $0 * 10 })
        // One more than the window: the consumer counts an item a moment after it has left the queue.
        #expect(farthest.withLock { $0 } <= window)
    }

    @Test func numbersThatAreNotClaimedInTurnComeInOrder() throws {
        let queue = OrderedQueue<String>(window: 3)
        #expect(queue.put("c", at: 2))
        #expect(queue.put("a", at: 0))
        #expect(queue.put("b", at: 1))
        queue.finish(at: 4)
        queue.finish(at: 3)
        queue.finish(at: 9)
        #expect(try [queue.take(), queue.take(), queue.take(), queue.take(), queue.take()] == ["a", "b", "c", nil, nil])
    }

    @Test func aWindowHoldsAtLeastOneItem() throws {
        let queue = OrderedQueue<Int>(window: 0)
        #expect(queue.claim(below: 1) == 0)
        #expect(queue.put(7, at: 0))
        #expect(try queue.take() == 7)
    }

    @Test func aWorkersFailureReachesTheConsumerAndEndsAllOthers() throws {
        let queue = OrderedQueue<Int>(window: 2)
        let error = try #require(throws: Failure.self) {
            try BlockingThreads.run(
                4,
                { _ in
                    while let number = queue.claim(below: .max) {
                        // The rest waits: for room, or for its turn.
                        if number == 5 { return queue.fail(Failure(number: number)) }
                        guard queue.put(number, at: number) else { return }
                    }
                }
            ) { while try queue.take() != nil {} }
        }
        #expect(error == Failure(number: 5))
        #expect(!queue.put(1, at: 1))
        #expect(queue.claim(below: 100) == nil)
        #expect(throws: Failure.self) { try queue.take() }
    }

    @Test func aConsumerThatFailsEndsTheWorkersThatWait() throws {
        let queue = OrderedQueue<Int>(window: 1)
        let refused = Mutex(0)
        #expect(throws: Failure.self) {
            try BlockingThreads.run(
                3,
                { worker in
                    if !queue.put(worker, at: worker + 1) { refused.withLock { $0 += 1 } }
                }
            ) {
                queue.fail(Failure(number: -1))
                _ = try queue.take()
            }
        }
        #expect(refused.withLock { $0 } == 3)
    }

    @Test func theFirstFailureStands() throws {
        let queue = OrderedQueue<Int>(window: 1)
        queue.put(1, at: 0)
        queue.fail(Failure(number: 1))
        queue.fail(Failure(number: 2))
        queue.finish(at: 1)
        #expect(throws: Failure(number: 1)) { try queue.take() }
    }

    @Test func theEndWakesAConsumerThatWaits() throws {
        let queue = OrderedQueue<Int>(window: 1)
        let item = try BlockingThreads.run(1, { _ in queue.finish(at: 0) }) { try queue.take() }
        #expect(item == nil)
    }
}
