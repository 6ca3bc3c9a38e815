extension CloudZone {
    /// Hints of what other devices do in the zone from now on.
    ///
    /// - Parameter interval: how long to wait between two looks at the cloud. A look that finds nothing reads no file but one.
    /// - Throws: ``CloudError`` with `.invalidArguments` for a query that no cloud could answer, or why the zone cannot be read.
    public func subscribe(_ subscription: RecordSubscription, every interval: Duration = .seconds(2)) async throws -> RecordNotifications {
        let clock = clock
        return try await subscribe(subscription) { (try? await clock.sleep(for: interval)) != nil }
    }

    /// The same, with something else that wakes: a watch on files, a push, a test.
    ///
    /// - Parameter wait: returns true when it is time to look again, false when the hints are to end. A call too many does no harm.
    public func subscribe(
        _ subscription: RecordSubscription, waitingFor wait: @escaping @Sendable () async -> Bool
    ) async throws -> RecordNotifications {
        try subscription.verify()
        return RecordNotifications(
            subscription: subscription, cloud: cloud, zone: id, device: device, start: try await refreshed(), wait: wait)
    }
}
