import Foundation
import GRDB
@testable import LocalTables
import SnapshotModel
import TestSupport
import Testing

@testable import LocalStore

/// The rows of one table are replaced by so many that SQLite's cache does not hold their pages.
@Suite struct LargeTransactionTests {
    private struct Refused: Error {}

    private let schema: DatasetSchema
    /// 3 MB.
    private let new = (0..<20_000).map { number in
        [Value.text("new \(String(repeating: "0", count: 5 - "\(number)".count))\(number)"), .text(String(repeating: "n", count: 130))]
    }

    init() throws { schema = try namedItems() }

    /// A table with 20,000 rows in random order of their keys, which other programs may write.
    private func scene(wal: Bool) throws -> LocalScene {
        try LocalScene(
            """
            CREATE TABLE items(id TEXT PRIMARY KEY, name TEXT);
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19999)
                INSERT INTO items SELECT 'old ' || hex(randomblob(8)), printf('a secret %s', hex(zeroblob(60))) FROM n;
            """, wal: wal)
    }

    private func replace(_ scene: LocalScene, by rows: [[Value]], then: (LocalTransaction) throws -> Void = { _ in }) throws {
        try scene.database.write { transaction in
            try send(rows, to: transaction.rows.replaceAll(of: schema))
            try then(transaction)
        }
    }

    @Test(arguments: [false, true]) func othersSeeAllOfItOrNothing(wal: Bool) throws {
        let scene = try scene(wal: wal)
        try replace(scene, by: new) { transaction in
            // SQLite has written pages already, and reads them back here.
            let count = try transaction.rows.rowCount(of: schema)
            #expect(count == 20_000)
            guard wal else { return }
            let seen = try scene.app.run("SELECT count(*), min(id) >= 'old' FROM items")
            #expect(seen == "20000|1\n")
        }
        #expect(try scene.app.run("SELECT count(*), max(id) FROM items; PRAGMA integrity_check") == "20000|new 19999\nok\n")
        #expect(try scene.rows(of: schema) == new)
        try replace(scene, by: Array(new.prefix(10)))
        #expect(try scene.rows(of: schema) == Array(new.prefix(10)))
    }

    @Test(arguments: [false, true]) func aRollbackLeavesTheLogToOthers(wal: Bool) throws {
        let scene = try scene(wal: wal)
        for number in 0..<3 {
            let before = try scene.rows(of: schema)
            #expect(throws: Refused.self) { try replace(scene, by: new) { _ in throw Refused() } }
            #expect(try scene.rows(of: schema) == before)
            // Another program writes into the same place of the log.
            try scene.app.run("UPDATE items SET name = 'changed \(number)'")
            #expect(try scene.app.run("SELECT DISTINCT name FROM items; PRAGMA integrity_check") == "changed \(number)\nok\n")
            #expect(try Set(scene.rows(of: schema).map { $0[1] }) == [.text("changed \(number)")])
        }
        try replace(scene, by: new)
        #expect(try scene.rows(of: schema) == new)
    }

    @Test(arguments: [false, true], [0, 300, 5000]) func secureDeleteLeavesNothingOfTheOldRows(wal: Bool, rows: Int) throws {
        let scene = try scene(wal: wal)
        try scene.database.read { try $0.db.execute(sql: "PRAGMA secure_delete = ON") }
        try scene.app.run("PRAGMA secure_delete = ON; DELETE FROM items WHERE id < 'old 4'; PRAGMA wal_checkpoint(TRUNCATE)")
        try replace(scene, by: Array(new.prefix(rows)))
        try scene.app.run("PRAGMA wal_checkpoint(TRUNCATE)")
        let file = try Data(contentsOf: URL(fileURLWithPath: scene.path))
        #expect(file.range(of: Data("a secret".utf8)) == nil)
        #expect(try scene.rows(of: schema) == Array(new.prefix(rows)))
        #expect(try scene.app.run("SELECT name FROM sqlite_schema WHERE type = 'table'; PRAGMA integrity_check") == "items\nok\n")
    }
}
