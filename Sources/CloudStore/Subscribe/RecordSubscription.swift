/// What a device wants to hear of.
///
///     let sales = RecordSubscription("sales", to: .query(RecordQuery("Order", where: .compare("sum", .atLeast, .integer(100)))))
public struct RecordSubscription: Hashable, Sendable {
    /// Which records.
    public enum Target: Hashable, Sendable {
        /// All of the zone.
        case zone
        /// Those of one type.
        case type(String)
        /// Those that a query wants: as they are after a save, or were before a deletion. Its order means nothing here.
        case query(RecordQuery)
    }

    /// What has to happen to them.
    public enum Event: String, Hashable, Sendable, CaseIterable {
        case creation, update, deletion
    }

    /// Tells a device's subscriptions apart.
    public let id: String
    public let target: Target
    public let events: Set<Event>

    /// A subscription; by default to everything in the zone.
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

    /// Refuses a query or a type that no cloud could answer.
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
