public import CloudStore
public import RecordZones

/// One page of a list of projects, newest first.
public struct SharedProjectPage: Sendable {
    public let projects: [SharedProject]
    /// The names of project records that this version cannot read.
    public let unreadable: [String]
    /// Continues with the next page; nil if this is the last one.
    public let cursor: QueryCursor?
}
