import GRDB
@testable import LocalStore
import Testing

@Suite struct LocalStoreErrorTests {
    @Test(arguments: [
        (ResultCode.SQLITE_BUSY, LocalStoreError.Code.busy, true), (.SQLITE_BUSY_SNAPSHOT, .busy, true), (.SQLITE_LOCKED, .busy, true),
        (.SQLITE_CORRUPT, .damaged, false), (.SQLITE_NOTADB, .damaged, false), (.SQLITE_FULL, .diskFull, false),
        (.SQLITE_PERM, .permissionDenied, false), (.SQLITE_READONLY, .permissionDenied, false), (.SQLITE_READONLY_DBMOVED, .permissionDenied, false),
        (.SQLITE_CANTOPEN, .notFound, false), (.SQLITE_CONSTRAINT_UNIQUE, .badRow, false), (.SQLITE_MISMATCH, .badRow, false),
        (.SQLITE_TOOBIG, .badRow, false), (.SQLITE_IOERR_FSYNC, .inputOutput, false), (.SQLITE_NOMEM, .inputOutput, false),
    ])
    func everyCodeOfSQLiteHasItsMeaning(code: ResultCode, expected: LocalStoreError.Code, isRetryable: Bool) {
        let error = LocalStoreError(DatabaseError(resultCode: code), at: "app.db")
        #expect(error.code == expected)
        #expect(error.isRetryable == isRetryable)
        #expect(error.description.hasPrefix("app.db: "))
    }

    @Test func aStatementsTextAndValuesAreNotShown() throws {
        let queue = try DatabaseQueue()
        let error = try #require(throws: DatabaseError.self) {
            try queue.write { db in
                try db.execute(sql: "CREATE TABLE t(a TEXT UNIQUE); INSERT INTO t VALUES('secret')")
                try db.execute(sql: "INSERT INTO t VALUES(?)", arguments: ["secret"])
            }
        }
        #expect(!LocalStoreError(error, at: "app.db").description.contains("secret"))
    }
}
