import LocalStore
public import SnapshotModel

/// Tells which rows the engine's imports change: an element for each import, or for several where the consumer is slow.
///
///     for await changes in engine.changeNotices() {
///         for one in changes { one.isEverything ? reload(one.dataset) : reload(one.dataset, one.inserted.union(one.updated), without: one.deleted) }
///     }
///
/// An element has the datasets that changed, by their names. What the consumer has not fetched yet is one element, the union of it. Imports count
/// from the call of ``SyncEngine/changeNotices(keyLimit:)`` on. Ends with the task that iterates. For one consumer.
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
    /// Tells, from now on, which rows this engine's imports change: those of ``sync(level:allowing:progress:)``, of ``importNewest(allowing:progress:)``,
    /// of messages, of restores and of whatever else writes rows that the application has not written itself.
    ///
    /// Each import is told after its transaction is committed. What another engine or another process imports is not told.
    ///
    /// - Parameter keyLimit: how many keys of a dataset an element names at most. Of a dataset with more of them, and of one of which an import
    ///   touches more than 100,000 rows, the element says that everything changed (``DatasetChanges/isEverything``).
    public func changeNotices(keyLimit: Int = 1000) -> ChangeNotices {
        let listener = ChangeListener(keyLimit: keyLimit)
        database.listeners.add(listener)
        return ChangeNotices(listener)
    }
}
