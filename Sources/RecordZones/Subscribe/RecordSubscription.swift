import CloudStore

/// What a device wants to be notified of.
///
///     let sales = RecordSubscription("sales", to: .query(RecordQuery("Order", where: .compare("sum", .atLeast, .integer(100)))))
public struct RecordSubscription: Hashable, Sendable {
    /// The records that a subscription is about.
    public enum Target: Hashable, Sendable {
        case zone
        case type(String)
        /// The records that a query selects, in their state after a save or before a deletion. The query's order is ignored.
        case query(RecordQuery)
    }

    /// A kind of change.
    public enum Event: String, Hashable, Sendable, CaseIterable {
        case creation, update, deletion
    }

    /// Distinguishes a device's subscriptions.
    public let id: String
    /// The records that the subscription is about.
    public let target: Target
    /// The kinds of changes to report.
    public let events: Set<Event>

    /// Makes a subscription, by default to everything in the zone.
    public init(_ id: String, to target: Target = .zone, on events: Set<Event> = Set(Event.allCases)) {
        (self.id, self.target, self.events) = (id, target, events)
    }

    func wants(_ event: Event, of record: CloudRecord) -> Bool {
        guard events.contains(event) else { return false }
        switch target {
        case .zone: return true
        case .type(let type): return record.type == type
        case .query(let query): return query.matches(record)
        }
    }

    /// Refuses an invalid query or type.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    func verify() throws(CloudError) {
        switch target {
        case .zone: return
        case .type(let type): try RecordQuery(type).verify()
        case .query(let query): try query.verify()
        }
    }
}

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
