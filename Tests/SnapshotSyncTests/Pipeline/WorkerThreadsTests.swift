import Synchronization
import Testing

@testable import SnapshotVersions

@Suite struct WorkerThreadsTests {
    private struct Failure: Error {}
    private final class Held: Sendable {}

    @Test func everyWorkerRunsOnceAndIsWaitedFor() {
        let seen = Mutex<[Int]>([])
        let result = WorkerThreads.run(8, { number in seen.withLock { $0.append(number) } }) { "meanwhile" }
        #expect(result == "meanwhile")
        #expect(seen.withLock { $0.sorted() } == Array(0..<8))
    }

    @Test func workersAreWaitedForWhenTheCallerFails() {
        let ended = Mutex(0)
        let queue = OrderedQueue<Int>(window: 1)
        #expect(throws: Failure.self) {
            try WorkerThreads.run(
                3,
                { _ in
                    // Waits until the queue has ended.
                    queue.put(0, at: 5)
                    ended.withLock { $0 += 1 }
                }
            ) {
                queue.fail(Failure())
                throw Failure()
            }
        }
        #expect(ended.withLock { $0 } == 3)
    }

    /// A statement that a thread still held would be finalised there, beside another thread's use of its connection.
    @Test func noThreadHoldsOnToTheWorkOnceAllHaveEnded() {
        for _ in 0..<2000 {
            weak var left: Held?
            do {
                let held = Held()
                left = held
                WorkerThreads.run(2, { _ in withExtendedLifetime(held) {} }) {}
            }
            guard left == nil else {
                Issue.record("a thread still holds what its work held")
                return
            }
        }
    }

    @Test func noThreadHoldsOnToWorkThatWasAwaited() async throws {
        for _ in 0..<500 {
            weak var left: Held?
            do {
                let held = Held()
                left = held
                try await WorkerThreads.run { withExtendedLifetime(held) {} }
            }
            guard left == nil else {
                Issue.record("a thread still holds what its work held")
                return
            }
        }
    }

    @Test func anErrorOfAwaitedWorkIsTheCallers() async {
        await #expect(throws: Failure.self) { try await WorkerThreads.run { throw Failure() } }
    }
}
