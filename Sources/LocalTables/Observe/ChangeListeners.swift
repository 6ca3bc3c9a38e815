import GRDB
package import SnapshotModel
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
        for listener in present { listener.receive(changes) }
    }

    private var present: [ChangeListener] { entries.withLock { $0.compactMap(\.listener) } }
}

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

    func receive(_ changes: [DatasetChanges]) {
        waiting.withLock { waiting in
            for one in changes {
                let sum = (waiting[one.dataset] ?? DatasetChanges(dataset: one.dataset, table: one.table)).followed(by: one, limit: keyLimit)
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

/// Finds the rows of the datasets that a transaction changes, by comparing the rows before and after.
///
/// It copies each row that is changed to disk, up to ``touchLimit`` rows of a dataset, and removes the copies at the end.
struct RowObservation {
    /// If more rows of a dataset are touched, the whole dataset counts as changed.
    static let touchLimit = 100_000

    private let images: [TableImage]
    private let keyLimit: Int

    /// Starts observing. The transaction must not have changed these rows yet.
    ///
    /// - Parameter keyLimit: how many keys of a dataset are reported. With more changed keys, the whole dataset counts as changed.
    init(_ db: Database, _ schemas: [DatasetSchema], keyLimit: Int) throws {
        self.keyLimit = keyLimit
        images = try schemas.enumerated().compactMap { number, schema in
            // An import gives most rows of a table other rowids, which is not a change of the rows.
            try db.hasTable(schema.table) ? TableImage(db, schema, name: "observed_\(number)", comparesRowids: false, limit: Self.touchLimit) : nil
        }
    }

    /// Ends observing and returns the datasets that changed.
    func end() throws -> [DatasetChanges] {
        try images.compactMap { image in
            let isFull = try image.isFull()
            try image.close()
            let changes = try isFull ? nil : image.differences(limit: keyLimit)
            try image.drop()
            guard let changes else { return .everything(of: image.schema.name, table: image.schema.table) }
            return changes.isEmpty ? nil : changes
        }
    }
}
