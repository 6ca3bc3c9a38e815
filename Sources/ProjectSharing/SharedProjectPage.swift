public import CloudStore

/// One page of a list of projects, newest first.
public struct SharedProjectPage: Sendable {
    public let projects: [SharedProject]
    /// The names of records that call themselves projects and are none that this version can read.
    public let unreadable: [String]
    /// Asks for the next page; nil if this is the last one.
    public let cursor: QueryCursor?
}
