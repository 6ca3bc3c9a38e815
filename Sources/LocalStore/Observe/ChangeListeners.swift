import SnapshotModel
import Synchronization

/// The listeners that are notified of the rows that the toolkit's transactions on a database changed.
package final class ChangeListeners: Sendable {
    private struct Entry: Sendable {
        weak var listener: ChangeListener?
    }

    private let entries = Mutex<[Entry]>([])

    package init() {}

    /// Adds a listener. It is notified until the last reference to it is released.
    package func add(_ listener: ChangeListener) {
        entries.withLock { entries in
            entries.removeAll { $0.listener == nil }
            entries.append(Entry(listener: listener))
        }
    }

    /// The largest number of keys of a dataset that a listener wants; nil if there are no listeners.
    var keyLimit: Int? { present.map(\.keyLimit).max() }

    func tell(_ changes: [DatasetChanges]) {
        guard !changes.isEmpty else { return }
        for listener in present { listener.take(changes) }
    }

    private var present: [ChangeListener] { entries.withLock { $0.compactMap(\.listener) } }
}
