package import SnapshotModel
import Synchronization

/// Holds what one listener has not fetched yet: the union of it, of each dataset at most so many keys.
package final class ChangeListener: Sendable {
    let keyLimit: Int
    private let waiting = Mutex<[String: DatasetChanges]>([:])
    private let wake: AsyncStream<Void>.Continuation
    /// Gives an element after something came; one stands for all before it.
    package let wakes: AsyncStream<Void>

    /// - Parameter keyLimit: how many keys of a dataset are held; with more of them everything counts as changed.
    package init(keyLimit: Int) {
        self.keyLimit = max(0, keyLimit)
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    deinit { wake.finish() }

    func take(_ changes: [DatasetChanges]) {
        waiting.withLock { waiting in
            for one in changes {
                let sum = (waiting[one.dataset] ?? DatasetChanges(dataset: one.dataset)).followed(by: one, limit: keyLimit)
                waiting[one.dataset] = sum.isEmpty ? nil : sum
            }
        }
        wake.yield()
    }

    /// Returns what has come since the last call, in the order of the datasets' names.
    package func fetch() -> [DatasetChanges] {
        waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values.sorted { $0.dataset < $1.dataset }
        }
    }
}
