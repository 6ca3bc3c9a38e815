import CloudStore

extension ProjectSharing {
    /// Yields whenever another device has shared, replaced or removed a project, or posted a comment, from now on. Ends with the task that iterates.
    ///
    ///     for await _ in try await sharing.changes() { await list.reload() }
    ///
    /// It carries no data: load anew what is shown. What this device does itself is not told.
    ///
    /// - Parameter interval: how long to wait between two looks at a cloud that reports no events (``RecordDatabase/events(in:_:)``).
    public func changes(every interval: Duration = .seconds(2)) async throws -> some AsyncSequence<Void, Never> & Sendable {
        try await zone.subscribeOnceThere(RecordSubscription("projects"), every: interval).map { _ in }
    }
}
