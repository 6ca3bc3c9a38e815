package import LocalStore
package import Logging
public import SnapshotModel

extension LocalDatabase {
    /// Returns a handler that logs that another program's lock delays this program.
    package static func waiting(for database: String, _ logger: Logger = Logger(label: "snapsync")) -> @Sendable () -> Void {
        { logger.notice("another program holds the lock of \(database); waiting for it, up to 10 s") }
    }
}

/// The rows that the engine's imports change, as a sequence: one element for each import, or one for several if the consumer is slow.
///
///     for await changes in engine.changeNotices() {
///         for one in changes { one.isEverything ? reload(one.dataset) : reload(one.dataset, one.inserted.union(one.updated), without: one.deleted) }
///     }
///
/// An element has the changed datasets, sorted by name. Changes that the consumer has not fetched yet are combined into one element. The sequence
/// begins with the call of ``SyncEngine/changeNotices(keyLimit:)``, and ends with the task that iterates. It is for one consumer.
public struct ChangeNotices: AsyncSequence, Sendable {
    public typealias Element = [DatasetChanges]
    public typealias Failure = Never

    private let listener: ChangeListener

    init(_ listener: ChangeListener) { self.listener = listener }

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let listener: ChangeListener
        fileprivate var wakes: AsyncStream<Void>.AsyncIterator

        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> [DatasetChanges]? {
            while await wakes.next(isolation: actor) != nil {
                let changes = listener.fetch()
                if !changes.isEmpty { return changes }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(listener: listener, wakes: listener.wakes.makeAsyncIterator()) }
}

extension SyncEngine {
    /// The rows that this engine's imports change from now on: the elements of ``changeNotices(keyLimit:)``, one table at a time.
    ///
    ///     for await change in sync.changes where change.table == "products" { reload(change.keys) }
    public var changes: some AsyncSequence<DatasetChanges, Never> & Sendable {
        changeNotices().flatMap { changes in
            AsyncStream { stream in
                for one in changes { stream.yield(one) }
                stream.finish()
            }
        }
    }

    /// Reports, from now on, which rows this engine's imports change. These are ``sync(allowing:progress:)``,
    /// ``importNewest(allowing:progress:)``, messages, restores, and everything else that writes rows that the application has not written
    /// itself.
    ///
    /// Each import is reported after its transaction has committed. Imports by another engine or another process are not reported.
    ///
    /// - Parameter keyLimit: the largest number of keys of a dataset in one element. If a dataset has more changed keys, or an import writes more
    ///   than 100,000 of its rows, the element says that everything changed (``DatasetChanges/isEverything``).
    public func changeNotices(keyLimit: Int = 1000) -> ChangeNotices {
        let listener = ChangeListener(keyLimit: keyLimit)
        database.listeners.add(listener)
        return ChangeNotices(listener)
    }
}
