/// What a device does in a zone.
public enum SyncRole: String, Sendable, Codable, CaseIterable {
    /// Publishes its data.
    case writer
    /// Imports what a writer publishes.
    case reader
    /// Imports what others publish, merges, and publishes.
    case peer

    /// Whether a device of this role makes commits.
    public var publishes: Bool { self != .reader }
}

/// The user's choice about syncing a database.
public enum SyncChoice: String, Hashable, Sendable, Codable, CaseIterable {
    /// No choice yet; nothing is synced until there is one.
    case undecided
    case on
    case off

    /// The choice `on` or `off`.
    public init(isOn: Bool) { self = isOn ? .on : .off }

    /// Whether syncing is on; nil if there is no choice yet.
    package var isOn: Bool? {
        switch self {
        case .undecided: nil
        case .on: true
        case .off: false
        }
    }
}

/// Registers an application's SQL functions and collations on a connection that the toolkit opens.
///
///     let setup: ConnectionSetup = { connection in
///         sqlite3_create_collation_v2(connection, "unicase", SQLITE_UTF8, nil, compare, nil)
///     }
///
/// The pointer is the `sqlite3 *`. The toolkit calls this once for each connection, before it reads the database, on any thread. Without it, a
/// table whose UNIQUE index, CHECK or generated column needs such a function or collation cannot be written by imports.
public typealias ConnectionSetup = @Sendable (_ connection: OpaquePointer) throws -> Void
