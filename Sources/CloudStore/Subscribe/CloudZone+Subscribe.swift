extension CloudZone {
    /// Hints of what other devices do in the zone from now on.
    ///
    /// A cloud that reports events (``RecordDatabase/events(in:_:)``) is looked at when it does, and every 30 s besides; any other one, and a
    /// file system that other machines write, too, at the interval.
    ///
    /// - Parameter interval: how long to wait between two looks at the cloud. A look that finds nothing reads no file but one.
    /// - Throws: ``CloudError`` with `.invalidArguments` for a query that no cloud could answer, or why the zone cannot be read.
    public func subscribe(_ subscription: RecordSubscription, every interval: Duration = .seconds(2)) async throws -> RecordNotifications {
        let wait = ZoneWait(for: id, of: cloud, every: interval, clock: clock)
        return try await subscribe(subscription) { await wait.next() }
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

    /// Hints of what other devices do in a zone that need not be there yet; it is looked for at the interval, or when the cloud reports an event.
    package func subscribeOnceThere(_ subscription: RecordSubscription, every interval: Duration) async throws -> RecordNotifications {
        do {
            return try await subscribe(subscription, every: interval)
        } catch let error as CloudError where error.code == .zoneNotFound {
            let wait = ZoneWait(for: id, of: cloud, every: interval, clock: clock), empty = ZoneState(records: [], token: nil, timestamp: nil)
            return RecordNotifications(subscription: subscription, cloud: cloud, zone: id, device: device, start: ZoneView(empty)) { await wait.next() }
        }
    }
}
