import Foundation
import Platform
import StrictText
import Synchronization
import Testing

@testable import SnapshotVersions

@Suite(.timeLimit(.minutes(60))) struct WorkerThreadsTests {
    private struct Failure: Error {}
    private final class Held: Sendable {}

    @Test func everyWorkerRunsOnceAndIsWaitedFor() {
        let seen = Mutex<[Int]>([])
        let result = BlockingThreads.run(8, { number in seen.withLock { $0.append(number) } }) { "meanwhile" }
        #expect(result == "meanwhile")
        #expect(seen.withLock { $0.sorted() } == Array(0..<8))
    }

    @Test func workersAreWaitedForWhenTheCallerFails() {
        let ended = Mutex(0)
        let queue = OrderedQueue<Int>(window: 1)
        #expect(throws: Failure.self) {
            try BlockingThreads.run(
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

    /// Work that waits, for a lock or a mount, has a thread at once and takes none of the tasks'. On those, one more would begin a second.
    @Test func workThatWaitsHasAThreadAtOnce() {
        let count = WorkerThreads.count + 60, gate = DispatchSemaphore(value: 0), begun = DispatchSemaphore(value: 0)
        for _ in 0..<count {
            BlockingThreads.run {
                begun.signal()
                gate.wait()
            }
        }
        let late = DispatchTime.now() + 30
        let begunCount = (0..<count).prefix { _ in begun.wait(timeout: late) == .success }.count
        for _ in 0..<count { gate.signal() }
        #expect(begunCount == count)
    }

    /// A statement that a thread still held would be finalised there, beside another thread's use of its connection.
    @Test func noThreadHoldsOnToTheWorkOnceAllHaveEnded() {
        for _ in 0..<2000 {
            weak var left: Held?
            do {
                let held = Held()
                left = held
                BlockingThreads.run(2, { _ in withExtendedLifetime(held) {} }) {}
            }
            guard left == nil else {
                Issue.record("a thread still holds what its work held")
                return
            }
        }
    }

    /// Hosted code may block; its threads are not those that tasks share.
    @Test func hostedCodeHoldsNoOtherTaskUp() async {
        let count = ProcessInfo.processInfo.activeProcessorCount + 2
        let gate = DispatchSemaphore(value: 0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { await WorkerThreads.host { Self.wait(for: gate) } } }
            for _ in 0..<100 { await Task.detached { await Task.yield() }.value }
            for _ in 0..<count { gate.signal() }
        }
    }

    /// A change of threads costs more than most calls.
    @Test func aBlockingCallOfHostedCodeStaysOnItsThread() async throws {
        try await WorkerThreads.host {
            for _ in 0..<3 {
                let here = Self.thread(), there = try await BlockingCalls.run { Self.thread() }
                #expect(there == here)
                await #expect(throws: Failure.self) { try await BlockingCalls.run { throw Failure() } }
            }
        }
    }

    private static func wait(for gate: DispatchSemaphore) { gate.wait() }

    private static func thread() -> UInt64 { UInt64(pthread_self()) }

    @Test func anErrorOfHostedCodeIsASyncErrorAndACancellationIsOne() async {
        await #expect(throws: SyncError.self) { try await WorkerThreads.host { throw Failure() } }
        await #expect(throws: CancellationError.self) { try await WorkerThreads.host { throw CancellationError() } }
    }
}
