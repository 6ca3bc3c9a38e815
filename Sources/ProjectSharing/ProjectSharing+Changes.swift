import CloudStore
import RecordZones

extension ProjectSharing {
    /// Yields whenever another device has shared, replaced or removed a project or posted a comment, from now on. Ends with the task that
    /// iterates.
    ///
    ///     for await _ in try await sharing.changes() { await list.reload() }
    ///
    /// It carries no data: load the shown data again. This device's own changes are not reported.
    ///
    /// - Parameter interval: the wait between two checks of a cloud that reports no events (``CloudDatabase/events(in:_:)``).
    public func changes(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await zone.subscribeOnceThere(RecordSubscription("projects"), every: interval).map { _ in }
    }
}
