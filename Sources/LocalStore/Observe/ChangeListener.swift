package import SnapshotModel
import Synchronization

/// Collects the changes that one listener has not fetched yet, merged for each dataset, with a limited number of keys.
package final class ChangeListener: Sendable {
    let keyLimit: Int
    private let waiting = Mutex<[String: DatasetChanges]>([:])
    private let wake: AsyncStream<Void>.Continuation
    /// Yields an element after changes arrived. One element may stand for several arrivals.
    package let wakes: AsyncStream<Void>

    /// - Parameter keyLimit: how many keys of a dataset are stored. With more changed keys, the whole dataset counts as changed.
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

    /// Returns the changes since the last call, ordered by dataset name.
    package func fetch() -> [DatasetChanges] {
        waiting.withLock { waiting in
            defer { waiting = [:] }
            return waiting.values.sorted { $0.dataset < $1.dataset }
        }
    }
}
