package import GRDB
package import StrictText

extension SyncError {
    /// Whether an error of this module, or one that was made of it, says that a row breaks a CHECK constraint, or that SQLite cannot evaluate one: it
    /// refuses the time of day there, and only when it meets a row.
    package static func isBrokenCheck(_ error: any Error) -> Bool {
        let text = "\(error)"
        return text.exact.contains("a row breaks a rule of the table (CHECK constraint failed") || text.exact.contains(" in a CHECK constraint")
    }

    /// Runs `body` and turns SQLite's errors into errors of this module. They name the step, if one is given and they name none yet.
    package static func translating<T>(at place: String, _ step: SyncStep? = nil, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            guard var known = (error as? DatabaseError).map({ SyncError($0, at: place) }) ?? error as? SyncError else { throw error }
            known.step = known.step ?? step
            throw known
        }
    }

    /// Translates `error` if it is an error of SQLite's; nil for other errors.
    package init?(ofSQLite error: any Error, at place: String) {
        guard let error = error as? DatabaseError else { return nil }
        self.init(error, at: place, isFile: false)
    }

    /// - Parameter isFile: whether `place` is the database's path. Then the file can be examined if SQLite's error says little.
    package init(_ error: DatabaseError, at place: String, isFile: Bool = true) {
        // SQLite's message may contain the text of a statement but never values, because statements with values bind them.
        let message = error.message ?? "SQLite error \(error.extendedResultCode.rawValue)"
        switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED:
            self.init(database: .busy, at: place, "another program holds the database's lock", hint: "try again when it is done")
        case .SQLITE_CORRUPT:
            self.init(
                database: .damaged, at: place, "the database is damaged, or the disk fails to read it (\(message))",
                hint: "check it with: sqlite3 FILE 'PRAGMA integrity_check'")
        case .SQLITE_NOTADB:
            let isEncrypted = isFile && DatabaseFile.looksEncrypted(place)
            self.init(
                database: .damaged, at: place, isEncrypted ? "the file is an encrypted database, or none at all" : "the file is not a SQLite database",
                hint: isEncrypted ? "sync a database that is not encrypted: SQLite cannot read this one without its key" : "check the path")
        case .SQLITE_FULL:
            self.init(database: .diskFull, at: place, "the disk is full; nothing was changed", hint: "make room and run the same command again")
        case .SQLITE_READONLY where isFile && error.extendedResultCode == .SQLITE_READONLY:
            self = DatabaseFile.unwritable(place, message)
        case .SQLITE_PERM, .SQLITE_READONLY, .SQLITE_AUTH:
            self.init(
                database: .permissionDenied, at: place, "the database cannot be written (\(message))",
                hint: "check the owner and mode of the file and of its folder")
        case .SQLITE_CANTOPEN:
            self = DatabaseFile.unopened(isFile ? place : nil)
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG:
            self.init(database: .badRow, at: place, "a row breaks a rule of the table (\(message))", hint: "compare the table's constraints with the writer's")
        case .SQLITE_IOERR:
            self.init(
                database: .inputOutput, at: place,
                "the disk could not be read or written (\(message), SQLite's code \(error.extendedResultCode.rawValue)); nothing was changed",
                hint: "check the disk and its room, then run the same command again")
        case .SQLITE_ERROR:
            self = Self.schemaFailure(message, at: place)
        default:
            self.init(
                database: .inputOutput, at: place, "SQLite failed: \(message)",
                hint: "run the same command again; if it fails again, check the file and its disk")
        }
    }

    /// The error for a statement that SQLite cannot run because of the schema. The file is sound; a trigger, an index or a table must be fixed.
    private static func schemaFailure(_ message: String, at place: String) -> SyncError {
        let reason = "SQLite cannot run a statement: \(message)"
        for (beginning, what) in [
            ("no such function", "a function"), ("unknown function", "a function"), ("no such collation sequence", "a collation"),
            ("unknown tokenizer", "a tokenizer"), ("no such module", "a module"),
        ] where message.exact.hasPrefix(beginning) {
            return SyncError(
                database: .schemaMismatch, at: place, reason,
                hint:
                    "a trigger, an index or a column of a table uses \(what) that only your application has; sqlite3 FILE .schema shows which; change it so that any program can write the table"
            )
        }
        for (beginning, what) in [("no such table", "table"), ("no such column", "column"), ("no such index", "index")] where message.exact.hasPrefix(beginning)
        {
            return SyncError(
                database: .schemaMismatch, at: place, reason,
                hint:
                    "the \(what) was renamed or dropped; name it as before, or change what still uses the old name (a trigger, a view, the dataset file); sqlite3 FILE .schema shows them; if it travels: snapsync tables adopt"
            )
        }
        return SyncError(database: .schemaMismatch, at: place, reason, hint: "look at the tables, triggers and views with: sqlite3 FILE .schema")
    }
}
