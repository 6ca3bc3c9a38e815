import Foundation
import TestSupport
import Testing

/// Tables of which every row was written between two exports: enough rows that the version states their instants as runs.
@Suite(.runsPrograms) struct RewrittenTableCommandTests {
    private static let now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

    /// A writer with a table of 21,000 rows, and a reader that has imported it.
    private func scene() throws -> Scene {
        try Scene.copy(of: "prices") { scene in
            try scene.database("app.db").run(
                """
                PRAGMA journal_mode = WAL;
                CREATE TABLE prices(article TEXT PRIMARY KEY NOT NULL, price INTEGER NOT NULL, changed TEXT NOT NULL);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 21000)
                    INSERT INTO prices SELECT printf('%08x', i * 2654435761 % 4294967296), i, '2026-01-01T00:00:00Z' FROM n
                """)
            #expect(try scene.run("init app.db cloud --tables prices").status == 0)
            try scene.succeed("export app.db")
            #expect(try scene.run("join copy.db cloud").status == 0)
            try scene.succeed("import copy.db")
        }
    }

    private func expectCopied(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        try scene.succeed("import copy.db")
        let rows = "SELECT * FROM prices ORDER BY article"
        #expect(try scene.database("copy.db").run(rows) == scene.database("app.db").run(rows), sourceLocation: location)
        try scene.succeed("check app.db --local")
        try scene.succeed("check copy.db --local")
        #expect(try scene.succeed("sync app.db").contains("nothing"), sourceLocation: location)
        #expect(try scene.database("app.db").run("SELECT count(*) FROM snapsync_log WHERE dataset > 0; SELECT count(*) FROM snapsync_changes") == "0\n0\n")
    }

    @Test func everyRowIsUpdatedOrDeletedAndInsertedAgain() throws {
        let scene = try scene()
        let app = scene.database("app.db")
        try app.run("UPDATE prices SET price = price + 1, changed = \(Self.now)")
        try scene.sync("app")
        // The rows, and what the update left alone of them, are as old as in the first version.
        let before = "SELECT count(*), count(DISTINCT ifnull(rest, born)) FROM snapsync_instants"
        #expect(try app.run(before) == "21000|1\n")
        try expectCopied(scene)
        #expect(try scene.database("copy.db").run(before) == "21000|1\n")
        try app.run(
            """
            CREATE TEMP TABLE kept AS SELECT * FROM prices; BEGIN; DELETE FROM prices; INSERT INTO prices SELECT article, price + 1, \(Self.now) FROM kept WHERE price % 100 <> 2;
            UPDATE prices SET price = 0 WHERE price % 100 = 5; COMMIT
            """)
        try scene.sync("app")
        #expect(try app.run("SELECT count(*) FROM snapsync_tombstones; \(before)") == "210\n20790|1\n")
        try expectCopied(scene)
    }

    /// An update of all rows leaves them the rows that others have, so a later edit of one of them wins.
    @Test func aPeersLaterEditWins() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            """
            CREATE TABLE prices(article TEXT PRIMARY KEY NOT NULL, price INTEGER NOT NULL, updatedAt TEXT NOT NULL);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 21000)
                INSERT INTO prices SELECT 'a' || i, i, '2026-01-01T00:00:00Z' FROM n
            """)
        try scene.succeed(Scene.setUp("a.db", as: "peer", "--name a"))
        try scene.sync("a")
        try scene.succeed(Scene.join("b.db", as: "peer", "--name b"))
        try scene.sync("b")
        try scene.database("a.db").run("UPDATE prices SET price = price + 1, updatedAt = \(Self.now)")
        Thread.sleep(forTimeInterval: 0.02)
        try scene.database("b.db").run("UPDATE prices SET price = -7, updatedAt = \(Self.now) WHERE article = 'a9'")
        try scene.sync("a", "b", "a")
        for device in ["a", "b"] {
            #expect(try scene.database("\(device).db").run("SELECT price FROM prices WHERE article IN ('a9', 'a10') ORDER BY 1") == "-7\n11\n")
        }
    }

    /// Every row gets an instant that its timestamp does not say, by its key. InstantRunTests has more rows, and runs.
    @Test func everyRowIsWrittenWithTheTimestampThatItHad() throws {
        let scene = try scene(), count = 21_000
        let app = scene.database("app.db")
        func expectInstants(_ distinct: Int, of rows: Int) throws {
            let instants = "SELECT key, at FROM snapsync_instants WHERE born IS NOT at ORDER BY key"
            #expect(try app.run("SELECT count(DISTINCT at), count(*) FROM snapsync_instants WHERE born IS NOT at") == "\(distinct)|\(rows)\n")
            // The reader has them from the asset.
            #expect(try scene.database("copy.db").run(instants) == app.run(instants))
        }
        try app.run("UPDATE prices SET price = price + 1")
        try scene.sync("app")
        try expectCopied(scene)
        try expectInstants(1, of: count)
        // Again, with rows that are gone, that are new, and that were changed later or with a timestamp.
        try app.run(
            """
            CREATE TEMP TABLE kept AS SELECT * FROM prices; BEGIN; DELETE FROM prices; INSERT INTO prices SELECT article, price + 1, changed FROM kept WHERE price % 1000 <> 2;
            COMMIT;
            UPDATE prices SET price = 0 WHERE price % 1000 = 5; UPDATE prices SET changed = \(Self.now) WHERE price % 1000 = 7; INSERT INTO prices VALUES('new', 1, \(Self.now))
            """)
        try scene.sync("app")
        try expectCopied(scene)
        let thousands = count / 1000
        #expect(try app.run("SELECT count(*) FROM snapsync_tombstones") == "\(thousands)\n")
        try expectInstants(3, of: count - thousands)
    }
}
