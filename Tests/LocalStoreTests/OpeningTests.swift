import Foundation
import LocalStore
import LocalTables
import StrictText
import TestSupport
import Testing

@Suite struct OpeningTests {
    private func error(opening path: String) throws -> SyncError { try #require(throws: SyncError.self) { try LocalDatabase(path: path) } }

    @Test func aMissingDatabaseIsNotMade() throws {
        let scratch = try ScratchDirectory()
        let error = try error(opening: scratch.path("none.db"))
        #expect(error.database == .notFound)
        #expect(error.place == scratch.path("none.db"))
        #expect(!scratch.exists("none.db"))
    }

    @Test func aDatabaseIsMadeWhereThatIsAskedFor() throws {
        let scratch = try ScratchDirectory()
        let database = try LocalDatabase(path: scratch.path("new.db"), creating: true)
        #expect(try !database.read { try $0.settings.exists() })
    }

    @Test func aFileThatIsNoDatabaseIsLeftAsItIs() throws {
        let scratch = try ScratchDirectory()
        let text = String(repeating: "this is no database. ", count: 100)
        try scratch.write(text, to: "notes.txt")
        #expect(try error(opening: scratch.path("notes.txt")).database == .damaged)
        #expect(try scratch.read("notes.txt") == Data(text.utf8))
    }

    @Test func aCutDatabaseIsDamaged() throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', hex(zeroblob(20000)))", wal: false)
        let bytes = try scene.scratch.read("app.db")
        try scene.scratch.write(bytes.prefix(8192), to: "cut.db")
        let schema = try namedItems()
        let error = try #require(throws: SyncError.self) {
            let database = try LocalDatabase(path: scene.scratch.path("cut.db"))
            let session = try ReadSession(database, readers: 1)
            _ = try session.withReader(0) { try $0.allRows(of: schema) }
        }
        #expect(error.database == .damaged)
    }

    @Test func aDirectoryIsNoDatabase() throws {
        let scratch = try ScratchDirectory()
        #expect(try error(opening: scratch.path).database == .notFound)
    }

    @Test func anEmptyFileIsAnEmptyDatabase() throws {
        let scratch = try ScratchDirectory()
        try scratch.write("", to: "empty.db")
        let database = try LocalDatabase(path: scratch.path("empty.db"))
        #expect(try !database.read { try $0.settings.exists() })
    }

    @Test(arguments: ["UTF-16le", "UTF-16be"]) func aDatabaseOfUTF16IsRefused(encoding: String) throws {
        let scratch = try ScratchDirectory()
        try SQLiteShell("wide.db", in: scratch.path).run("PRAGMA encoding = '\(encoding)'; CREATE TABLE t(a);")
        #expect(try error(opening: scratch.path("wide.db")).database == .schemaMismatch)
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere")) func aReadOnlyDatabaseCanBeReadAndNotWritten() throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', 'b')", wal: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: scene.path)
        let database = try LocalDatabase(path: scene.path)
        #expect(try database.read { try $0.rows.hasRows(namedItems()) })
        let error = try #require(throws: SyncError.self) { try database.write { try $0.state.ownCommitsKnown.set(1) } }
        #expect(error.database == .permissionDenied)
    }

    @Test(arguments: ["delete", "truncate", "persist", "wal"]) func theJournalModeStaysAsItIs(mode: String) throws {
        let scratch = try ScratchDirectory()
        let app = SQLiteShell("app.db", in: scratch.path)
        try app.run("PRAGMA journal_mode = \(mode); CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', 'b');")
        do {
            let database = try LocalDatabase(path: scratch.path("app.db"))
            #expect(try database.usesWAL() == (mode == "wal"))
            try database.write { _ = try $0.tables.createBuiltIn() }
        }
        // Of the modes, only WAL is a property of the file.
        #expect(try app.run("PRAGMA journal_mode") == (mode == "wal" ? "wal\n" : "delete\n"))
    }

    @Test func aThrownErrorUndoesTheWholeTransaction() throws {
        struct Stop: Error {}
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', 'b')")
        let before = try scene.app.dump()
        let schema = try namedItems()
        #expect(throws: Stop.self) {
            try scene.database.write { transaction in
                try send([.text("c"), .null], to: transaction.rows.replaceAll(of: schema))
                _ = try transaction.tables.createBuiltIn()
                throw Stop()
            }
        }
        #expect(try scene.app.dump() == before)
    }

    @Test func aTransactionThatMeetsAnotherCommitIsToBeTriedAgain() throws {
        let scene = try LocalScene("CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT)")
        try scene.database.write { try $0.initialize(.example) }
        let error = try #require(throws: SyncError.self) {
            // SQLite fails such a transaction at once, whatever the timeout, for waiting would not help.
            try scene.database.read { transaction in
                _ = try transaction.state.applied()
                try scene.app.run("INSERT INTO items VALUES('a', NULL)")
                try transaction.state.setApplied(AppliedVersion(number: 1, hash: "00"))
            }
        }
        #expect(error.database == .busy)
        #expect(error.isRetryable)
        #expect(try scene.database.read { try $0.state.applied() } == nil)
    }
}
