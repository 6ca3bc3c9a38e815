import SnapshotModel
import Synchronization

/// Those who are told which rows the toolkit's transactions on a database have changed.
package final class ChangeListeners: Sendable {
    private struct Entry: Sendable {
        weak var listener: ChangeListener?
    }

    private let entries = Mutex<[Entry]>([])

    package init() {}

    /// Adds one who is told from now on, until the last reference to it goes.
    package func add(_ listener: ChangeListener) {
        entries.withLock { entries in
            entries.removeAll { $0.listener == nil }
            entries.append(Entry(listener: listener))
        }
    }

    /// How many keys of a dataset are asked for; nil where nobody listens.
    var keyLimit: Int? { present.map(\.keyLimit).max() }

    func tell(_ changes: [DatasetChanges]) {
        guard !changes.isEmpty else { return }
        for listener in present { listener.take(changes) }
    }

    private var present: [ChangeListener] { entries.withLock { $0.compactMap(\.listener) } }
}
