import GRDB
@testable import LocalTables
import Platform
import SnapshotModel
import Synchronization
import TestSupport
import Testing

@testable import LocalStore

@Suite struct ReadSessionTests {
    private let table = "CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT); INSERT INTO items VALUES('a', 'old'), ('b', 'old')"
    private let old: [[Value]] = [[.text("a"), .text("old")], [.text("b"), .text("old")]]
    private let new: [[Value]] = [[.text("a"), .text("new")], [.text("c"), .text("new")]]
    private let change = "BEGIN; DELETE FROM items WHERE id = 'b'; UPDATE items SET name = 'new'; INSERT INTO items VALUES('c', 'new'); COMMIT;"

    @Test func allReadersSeeOneStateWhileAnotherProgramCommits() throws {
        let scene = try LocalScene(table)
        let schema = try namedItems()
        let session = try ReadSession(scene.database, readers: 4)
        #expect(session.readerCount == 4)
        try scene.app.run(change)
        for number in 0..<4 { #expect(try session.withReader(number) { try $0.allRows(of: schema) } == old) }
        #expect(try scene.rows(of: schema) == new)
        session.end()
    }

    /// Its reader is the database's own connection, and another one does what else is done meanwhile.
    @Test func aSessionOfOneReaderKeepsItsStateWhileTheDatabaseIsUsed() throws {
        let scene = try LocalScene(table)
        let schema = try namedItems()
        let session = try ReadSession(scene.database, readers: 1)
        try scene.database.write { try $0.db.execute(sql: "UPDATE items SET name = 'newer'") }
        func names() throws -> [String] { try scene.database.read { try String.fetchAll($0.db, sql: "SELECT name FROM items") } }
        #expect(try names() == ["newer", "newer"])
        #expect(try session.withReader(0) { try $0.allRows(of: schema) } == old)
        // A second session has a connection of its own.
        let second = try ReadSession(scene.database, readers: 1)
        #expect(try second.withReader(0) { try $0.allRows(of: schema) } != old)
        second.end()
        session.end()
        #expect(try session.withReader(0) { try $0.allRows(of: schema) } != old)
        #expect(try names() == ["newer", "newer"])
    }

    /// Whoever waits for the connection while a session borrows or returns it gets the one that is in use then.
    @Test func sessionsBeginAndEndBesideOtherThreads() throws {
        let scene = try LocalScene(table)
        let schema = try namedItems(), database = scene.database
        let failures = Mutex<[String]>([])
        BlockingThreads.run(
            4,
            { number in
                do {
                    for _ in 0..<200 {
                        if number == 0 {
                            try database.write { try $0.db.execute(sql: "UPDATE items SET name = name || '.'") }
                        } else if number == 1 {
                            let two = try database.read { try String.fetchAll($0.db, sql: "SELECT DISTINCT name FROM items") }
                            if two.count != 1 { failures.withLock { $0.append("a transaction saw \(two)") } }
                        } else {
                            let session = try ReadSession(database, readers: 1)
                            let first = try session.withReader(0) { try $0.allRows(of: schema) }
                            let again = try session.withReader(0) { try $0.allRows(of: schema) }
                            session.end()
                            if first != again { failures.withLock { $0.append("a session saw \(first) and \(again)") } }
                        }
                    }
                } catch {
                    failures.withLock { $0.append("thread \(number): \(error)") }
                }
            }
        ) {}
        #expect(failures.withLock { $0 } == [])
        let names = try database.read { try String.fetchAll($0.db, sql: "SELECT name FROM items") }
        #expect(names == Array(repeating: "old" + String(repeating: ".", count: 200), count: 2))
    }

    @Test func aRollbackJournalGetsOneReader() throws {
        let scene = try LocalScene(table, wal: false)
        let session = try ReadSession(scene.database, readers: 4)
        defer { session.end() }
        #expect(session.readerCount == 1)
        #expect(try session.withReader(0) { try $0.allRows(of: namedItems()) } == old)
    }

    @Test func thereIsAtLeastOneReader() throws {
        let scene = try LocalScene(table)
        #expect(try ReadSession(scene.database, readers: 0).readerCount == 1)
    }

    @Test(arguments: [false, true]) func nothingIsHeldOnceASessionHasEnded(wal: Bool) throws {
        let scene = try LocalScene(table, wal: wal)
        let schema = try namedItems()
        let session = try ReadSession(scene.database, readers: 2)
        _ = try session.withReader(0) { reader in
            // A reader that was left in the middle of its rows.
            let rows = try reader.rows(of: schema)
            return try rows.next(into: CollectingSink())
        }
        session.end()
        session.end()
        // SQLite says "locked" at once if a reader is left.
        try scene.app.run("PRAGMA busy_timeout = 0; \(change)")
        #expect(try scene.rows(of: schema) == new)
        if wal { #expect(try scene.app.run("PRAGMA busy_timeout = 0; PRAGMA wal_checkpoint(TRUNCATE)").hasSuffix("0|0|0\n")) }
    }

    @Test func aSessionThatIsForgottenHoldsNothing() throws {
        let scene = try LocalScene(table, wal: false)
        do { _ = try ReadSession(scene.database, readers: 1) }
        try scene.app.run("PRAGMA busy_timeout = 0; \(change)")
    }

    @Test(arguments: [false, true]) func insideAnImportTheReadersSeeWhatWasCommittedBeforeIt(wal: Bool) throws {
        let scene = try LocalScene(table, wal: wal)
        let schema = try namedItems()
        try scene.database.write { transaction in
            let session = try ReadSession(alongside: scene.database, readers: 3)
            for number in 0..<3 { #expect(try session.withReader(number) { try $0.allRows(of: schema) } == old) }
            session.end()
            try send(new, to: transaction.rows.replaceAll(of: schema))
        }
        #expect(try scene.rows(of: schema) == new)
    }

    @Test func aReaderReadsWhatTheTransactionOfItsStateNotes() throws {
        let scene = try LocalScene(table)
        try scene.database.write { try $0.initialize(.example) }
        let session = try ReadSession(scene.database, readers: 2)
        defer { session.end() }
        try scene.database.write { try $0.state.setApplied(AppliedVersion(number: 1, hash: "00")) }
        #expect(try session.withReader(1) { try $0.transaction.state.applied() } == nil)
        #expect(try scene.database.read { try $0.state.applied() }?.number == 1)
    }
}
