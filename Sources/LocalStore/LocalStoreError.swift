import GRDB
import StrictText

/// A failure of the local database, in words for people and with a code for programs.
public struct LocalStoreError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. It is a struct so that a new code does not break a switch in other code.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// There is no such file.
        public static let notFound = Code(name: "notFound")
        /// The file is not a SQLite database, or is damaged.
        public static let damaged = Code(name: "damaged")
        /// Another program holds the database's lock.
        public static let busy = Code(name: "busy")
        /// Another run of this program works on the same database.
        public static let running = Code(name: "running")
        public static let permissionDenied = Code(name: "permissionDenied")
        public static let diskFull = Code(name: "diskFull")
        public static let inputOutput = Code(name: "inputOutput")
        /// The database was not set up by `init`, or was set up already.
        public static let notInitialized = Code(name: "notInitialized")
        /// A table does not match its dataset's description.
        public static let schemaMismatch = Code(name: "schemaMismatch")
        /// A row cannot be synced or cannot be stored.
        public static let badRow = Code(name: "badRow")
        /// The new rows violate a foreign key that the database satisfied before.
        public static let foreignKeyViolated = Code(name: "foreignKeyViolated")

        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    public let code: Code
    /// Where it failed: a database, a table, a row's number.
    public let place: String
    /// What happened and why.
    public let reason: String
    /// What to do next; nil if there is nothing to suggest.
    public let hint: String?
    /// Whether the same attempt may succeed later without any change.
    public let isRetryable: Bool

    public init(_ code: Code, at place: String, _ reason: String, hint: String? = nil, isRetryable: Bool = false) {
        (self.code, self.place, self.reason, self.hint, self.isRetryable) = (code, place, reason, hint, isRetryable)
    }

    public var description: String {
        "\(place): \(reason)" + (hint.map { "; hint: \($0)" } ?? "")
    }
}

extension LocalStoreError {
    /// Whether an error of this module, or one that was made of it, says that a row breaks a CHECK constraint, or that SQLite cannot evaluate one: it
    /// refuses the time of day there, and only when it meets a row.
    package static func isBrokenCheck(_ error: any Error) -> Bool {
        let text = "\(error)"
        return text.exact.contains("a row breaks a rule of the table (CHECK constraint failed") || text.exact.contains(" in a CHECK constraint")
    }

    /// Runs `body` and turns SQLite's errors into errors of this module.
    static func translating<T>(at place: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw LocalStoreError(error, at: place)
        }
    }

    /// Translates `error` if it is an error of SQLite's; nil for other errors.
    package init?(ofSQLite error: any Error, at place: String) {
        guard let error = error as? DatabaseError else { return nil }
        self.init(error, at: place, isFile: false)
    }

    /// - Parameter isFile: whether `place` is the database's path. Then the file can be examined if SQLite's error says little.
    init(_ error: DatabaseError, at place: String, isFile: Bool = true) {
        // SQLite's message may contain the text of a statement but never values, because statements with values bind them.
        let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(.busy, at: place, "another program holds the database's lock", hint: "try again when it is done", isRetryable: true)
        case .SQLITE_CORRUPT:
            self.init(
                .damaged, at: place, "the database is damaged, or the disk fails to read it (\(message))",
                hint: "check it with: sqlite3 FILE 'PRAGMA integrity_check'")
        case .SQLITE_NOTADB:
            let isEncrypted = isFile && DatabaseFile.looksEncrypted(place)
            self.init(
                .damaged, at: place, isEncrypted ? "the file is an encrypted database, or none at all" : "the file is not a SQLite database",
                hint: isEncrypted ? "sync a database that is not encrypted: SQLite cannot read this one without its key" : "check the path given with --db")
        case .SQLITE_FULL:
            self.init(.diskFull, at: place, "the disk is full; nothing was changed", hint: "make room and run the same command again")
        case .SQLITE_READONLY where isFile && error.extendedResultCode == .SQLITE_READONLY:
            self = DatabaseFile.unwritable(place, message)
        case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH:
            self.init(
                .permissionDenied, at: place, "the database cannot be written (\(message))", hint: "check the owner and mode of the file and of its folder")
        case .SQLITE_CANTOPEN:
            self = DatabaseFile.unopened(isFile ? place : nil)
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG:
            self.init(.badRow, at: place, "a row breaks a rule of the table (\(message))", hint: "compare the table's constraints with the writer's")
        case .SQLITE_IOERR:
            self.init(
                .inputOutput, at: place,
                "the disk could not be read or written (\(message), SQLite's code \(error.extendedResultCode.rawValue)); nothing was changed",
                hint: "check the disk and its room, then run the same command again")
        case .SQLITE_ERROR:
            self = Self.schemaFailure(message, at: place)
        default:
            self.init(.inputOutput, at: place, "SQLite failed: \(message)", hint: "run the same command again; if it fails again, check the file and its disk")
        }
    }

    /// The error for a statement that SQLite cannot run because of the schema. The file is sound; a trigger, an index or a table must be fixed.
    private static func schemaFailure(_ message: String, at place: String) -> LocalStoreError {
        let reason = "SQLite cannot run a statement: \(message)"
        for (beginning, what) in [
            ("no such function", "a function"), ("unknown function", "a function"), ("no such collation sequence", "a collation"),
            ("unknown tokenizer", "a tokenizer"), ("no such module", "a module"),
        ] where message.exact.hasPrefix(beginning) {
            return LocalStoreError(
                .schemaMismatch, at: place, reason,
                hint:
                    "a trigger, an index or a column of a table uses \(what) that only your application has; sqlite3 FILE .schema shows which; change it so that any program can write the table"
            )
        }
        for (beginning, what) in [("no such table", "table"), ("no such column", "column"), ("no such index", "index")] where message.exact.hasPrefix(beginning)
        {
            return LocalStoreError(
                .schemaMismatch, at: place, reason,
                hint:
                    "the \(what) was renamed or dropped; name it as before, or change what still uses the old name (a trigger, a view, the dataset file); sqlite3 FILE .schema shows them; if it travels: snapsync describe --update"
            )
        }
        return LocalStoreError(.schemaMismatch, at: place, reason, hint: "look at the tables, triggers and views with: sqlite3 FILE .schema")
    }
}
