import GRDB
@testable import LocalTables
import StrictText
@testable import LocalStore
import TestSupport
import Testing

@Suite struct SQLiteErrorTests {
    @Test(arguments: [
        (ResultCode.SQLITE_BUSY, SyncError.DatabaseFault.busy, true), (.SQLITE_BUSY_SNAPSHOT, .busy, true), (.SQLITE_LOCKED, .busy, true),
        (.SQLITE_CORRUPT, .damaged, false), (.SQLITE_NOTADB, .damaged, false), (.SQLITE_FULL, .diskFull, false),
        (.SQLITE_PERM, .permissionDenied, false), (.SQLITE_READONLY, .permissionDenied, false), (.SQLITE_READONLY_DBMOVED, .permissionDenied, false),
        (.SQLITE_CANTOPEN, .notFound, false), (.SQLITE_CONSTRAINT_UNIQUE, .badRow, false), (.SQLITE_MISMATCH, .badRow, false),
        (.SQLITE_TOOBIG, .badRow, false), (.SQLITE_IOERR_FSYNC, .inputOutput, false), (.SQLITE_NOMEM, .inputOutput, false),
    ])
    func everyCodeOfSQLiteHasItsMeaning(code: ResultCode, expected: SyncError.DatabaseFault, isRetryable: Bool) {
        let error = SyncError(DatabaseError(resultCode: code), at: "app.db")
        #expect(error.database == expected)
        #expect(error.isRetryable == isRetryable)
        #expect(error.place == "app.db")
    }

    /// SQLite says CANTOPEN and READONLY, whatever the system's reason was: only a look at the file tells a missing one from one out of reach.
    @Test func whatIsThereAndCannotBeOpenedIsNotMissing() throws {
        let scratch = try ScratchDirectory()
        try scratch.write("", to: "app.db")
        let path = scratch.path("app.db")
        for code in [ResultCode.SQLITE_CANTOPEN, .SQLITE_READONLY] {
            let error = SyncError(DatabaseError(resultCode: code), at: path)
            #expect(error.database == .inputOutput, "\(error)")
            #expect(error.reason.contains("cannot be opened"))
        }
        #expect(SyncError(DatabaseError(resultCode: .SQLITE_CANTOPEN), at: scratch.path("none/app.db")).database == .notFound)
        // The lock, or what a WAL needs beside the database, may be another's.
        #expect(SyncError(DatabaseError(resultCode: .SQLITE_READONLY_DBMOVED), at: path).database == .permissionDenied)
        #expect(SyncError(ofSQLite: DatabaseError(resultCode: .SQLITE_CANTOPEN), at: "the database")?.database == .inputOutput)
    }

    @Test func aStatementsTextAndValuesAreNotShown() throws {
        let queue = try DatabaseQueue()
        let error = try #require(throws: DatabaseError.self) {
            try queue.write { db in
                try db.execute(sql: "CREATE TABLE t(a TEXT UNIQUE); INSERT INTO t VALUES('secret')")
                try db.execute(sql: "INSERT INTO t VALUES(?)", arguments: ["secret"])
            }
        }
        #expect(!SyncError(error, at: "app.db").description.contains("secret"))
    }
}
