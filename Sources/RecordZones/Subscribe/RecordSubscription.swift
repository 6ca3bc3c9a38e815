public import CloudStore

/// What a device wants to be notified of.
///
///     let sales = RecordSubscription("sales", to: .query(RecordQuery("Order", where: .compare("sum", .atLeast, .integer(100)))))
public struct RecordSubscription: Hashable, Sendable {
    /// The records that a subscription is about.
    public enum Target: Hashable, Sendable {
        /// All records of the zone.
        case zone
        /// The records of one type.
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
        self.id = id
        self.target = target
        self.events = events
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
