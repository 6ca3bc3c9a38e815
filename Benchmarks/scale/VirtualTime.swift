import Foundation
import Synchronization

/// A clock that stands still while anything works, and jumps to the next time that somebody waits for.
///
/// Whoever is awake is alone: each of many peers runs until it waits, and then the one whose time comes first goes on. So the order of everything
/// follows from the seeds, and hours pass in seconds. Bodies that one peer runs side by side are awake together until each waits.
///
// SAFETY (@unchecked Sendable): the state is used under `lock` alone.
final class VirtualTime: @unchecked Sendable {
    private struct Waiting {
        let at: Int64
        let order: Int
        let resume: @Sendable () -> Void
        func isBefore(_ other: Waiting) -> Bool { (at, order) < (other.at, other.order) }
    }

    private let lock = NSLock()
    private var heap: [Waiting] = []
    private var order = 0
    private var current: Int64 = 0
    /// How many are awake: one, but for bodies side by side.
    private var awake = 1
    private var failure: (any Error)?
    private var finish: (@Sendable () -> Void)?

    /// Microseconds since the beginning.
    var now: Int64 { lock.withLock { current } }

    /// Waits on this thread.
    func wait(_ microseconds: Int64) {
        guard microseconds > 0 else { return }
        let turn = DispatchSemaphore(value: 0)
        schedule(after: microseconds) { turn.signal() }
        handOver()
        turn.wait()
    }

    /// Waits in a task.
    func sleep(_ microseconds: Int64) async {
        await withCheckedContinuation { continuation in
            schedule(after: microseconds) { continuation.resume() }
            handOver()
        }
    }

    /// Runs all bodies, each beginning at its turn, until the last one has ended. Throws the first error of one.
    func run(_ bodies: [@Sendable () async throws -> Void]) async throws {
        await withCheckedContinuation { continuation in
            lock.withLock {
                finish = { continuation.resume() }
                awake = 1
            }
            for body in bodies {
                schedule(after: 0) { [self] in
                    Task {
                        do { try await body() } catch { fail(error) }
                        handOver()
                    }
                }
            }
            handOver()
        }
        if let error = lock.withLock({ failure }) { throw error }
    }

    /// Runs bodies side by side, each on a thread of its own; returns when all have ended.
    func sideBySide(_ bodies: [@Sendable () -> Void]) {
        guard bodies.count > 1 else { return bodies.forEach { $0() } }
        let done = DispatchSemaphore(value: 0), left = Mutex(bodies.count)
        // The caller waits from here on, and is awake again in place of the last one.
        lock.withLock { awake += bodies.count - 1 }
        for body in bodies {
            Thread.detachNewThread { [self] in
                body()
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                if isLast { done.signal() } else { handOver() }
            }
        }
        done.wait()
    }

    private func fail(_ error: any Error) { lock.withLock { failure = failure ?? error } }

    private func schedule(after microseconds: Int64, _ resume: @escaping @Sendable () -> Void) {
        lock.withLock {
            order += 1
            heap.append(Waiting(at: current + microseconds, order: order, resume: resume))
            var child = heap.count - 1
            while child > 0, heap[child].isBefore(heap[(child - 1) / 2]) {
                heap.swapAt(child, (child - 1) / 2)
                child = (child - 1) / 2
            }
        }
    }

    /// Lets the next one go on, once nobody is awake.
    private func handOver() {
        let next = lock.withLock { () -> (@Sendable () -> Void)? in
            awake -= 1
            guard awake == 0 else { return nil }
            guard let first = heap.first else { return finish }
            awake = 1
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            var parent = 0
            while true {
                let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
                guard let child = children.min(by: { heap[$0].isBefore(heap[$1]) }), heap[child].isBefore(heap[parent]) else { break }
                heap.swapAt(child, parent)
                parent = child
            }
            current = first.at
            return first.resume
        }
        next?()
    }
}
