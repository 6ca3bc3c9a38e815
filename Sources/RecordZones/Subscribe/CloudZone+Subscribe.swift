public import CloudStore

extension CloudZone {
    /// Returns a stream of hints about what other devices do in the zone from now on.
    ///
    /// The zone is checked when the cloud reports an event (``CloudDatabase/events(in:_:)``), and every 30 s in addition. It is checked at
    /// the interval if the cloud reports no events, or not all of them because other machines write to the file system too.
    ///
    /// - Parameter interval: the wait between two checks. A check that finds nothing new reads only one file.
    /// - Throws: ``CloudError`` with `.invalidArguments` for an invalid query, or the error of reading the zone.
    public func subscribe(_ subscription: RecordSubscription, every interval: Duration = .seconds(2)) async throws -> RecordNotifications {
        let wait = ZoneWait(for: id, of: cloud, every: interval, clock: clock)
        return try await subscribe(subscription) { await wait.next() }
    }

    /// The same with another wait: a file watch, a push notification, a test.
    ///
    /// - Parameter wait: returns true when it is time to check again, false to end the hints. A superfluous true does no harm.
    public func subscribe(
        _ subscription: RecordSubscription, waitingFor wait: @escaping @Sendable () async -> Bool
    ) async throws -> RecordNotifications {
        try subscription.verify()
        return RecordNotifications(
            subscription: subscription, cloud: cloud, zone: id, device: device, start: try await refreshed(), wait: wait)
    }

    /// The same for a zone that may not exist yet. Until it does, it is looked for at the interval, or when the cloud reports an event.
    package func subscribeOnceThere(_ subscription: RecordSubscription, every interval: Duration) async throws -> RecordNotifications {
        do {
            return try await subscribe(subscription, every: interval)
        } catch let error as CloudError where error.code == .zoneNotFound {
            let wait = ZoneWait(for: id, of: cloud, every: interval, clock: clock), empty = ZoneState(records: [], token: nil, timestamp: nil)
            return RecordNotifications(subscription: subscription, cloud: cloud, zone: id, device: device, start: ZoneView(empty)) { await wait.next() }
        }
    }
}
