public import CloudStore

/// The point at which a query continues after a page. It is valid only for the cloud, zone and query that it came from.
public struct QueryCursor: Hashable, Sendable {
    /// The cloud's UUID.
    let cloud: String
    let zone: ZoneID
    let query: RecordQuery
    let desiredKeys: [String]?
    /// The last record that was returned.
    let after: RecordQuery.Position
}

/// One page of a query's records.
public struct QueryPage: Sendable {
    /// The records, in the query's order.
    public let records: [CloudRecord]
    /// Continues with the next page; nil if this is the last one.
    public let cursor: QueryCursor?
}
