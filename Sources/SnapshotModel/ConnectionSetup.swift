/// Registers an application's SQL functions and collations on a connection that the toolkit opens.
///
///     let setup: ConnectionSetup = { connection in
///         sqlite3_create_collation_v2(connection, "unicase", SQLITE_UTF8, nil, compare, nil)
///     }
///
/// The pointer is the `sqlite3 *`. The toolkit calls this once for each connection, before it reads the database, on any thread. Without it, a
/// table whose UNIQUE index, CHECK or generated column needs such a function or collation cannot be written by imports.
public typealias ConnectionSetup = @Sendable (_ connection: OpaquePointer) throws -> Void
