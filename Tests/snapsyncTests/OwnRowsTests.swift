import Foundation
import TestSupport
import Testing

/// What a user sees of the guards: own rows at the first import, a dataset that shrinks, a name that is taken, a copied database.
@Suite(.runsPrograms) struct OwnRowsTests {
    private let rows = """
        INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('mine', 'Mine', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z');
        INSERT INTO notifications(id, title, createdAt, updatedAt, bucketId) VALUES('n', 'Own', '2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z', 'mine');
        """

    /// A row from before `init` that the zone lacked stays. Later another device inserts one with its key.
    @Test(arguments: ["peer", "reader"]) func anAdoptedRowThatLosesLaterIsInTheJournal(role: String) throws {
        let scene = try Scene(), table = "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT);"
        try scene.database("a.db").run(table + "INSERT INTO t VALUES('a', 'first')")
        try scene.database("b.db").run(table + "INSERT INTO t VALUES('k', 'own')")
        try scene.succeed(Scene.setUp("a.db", as: role == "reader" ? "writer --reader-edits all" : "peer", "--name a"))
        try scene.sync("a")
        try scene.succeed(Scene.setUp("b.db", as: role, "--name b --keep-local"))
        try scene.succeed("import b.db")
        #expect(try scene.database("b.db").run("SELECT v FROM t WHERE id = 'k'") == "own\n")
        try scene.database("a.db").run("INSERT INTO t VALUES('k', 'other')")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT v FROM t WHERE id = 'k'") == "other\n")
        #expect(try scene.succeed("conflicts b.db").contains("own"))
    }

    @Test func adoptedRowsStayAndThoseThatGiveWayAreKeptInAFileThatCanBeImported() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate watch.db --notifications 0 --buckets 1 --seed 7")
        let taken = try scene.database("phone.db").run("SELECT id FROM buckets LIMIT 1").trimmingCharacters(in: .newlines)
        try scene.database("watch.db").run(
            rows
                + "INSERT OR REPLACE INTO buckets(id, name, createdAt, updatedAt) VALUES('\(taken)', 'Own name', '2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z')"
        )
        let saying = ["table buckets", "did not come from this location", "--keep-local", "--replace-local"]
        try scene.refuse("join watch.db cloud --name watch", exit: 78, saying: saying, watching: ["watch.db"])
        try scene.succeed("join watch.db cloud --name watch --keep-local")
        let warnings = try #require(try scene.json("import watch.db")["warnings"] as? [String])
        let kept = try #require(warnings.first { $0.hasPrefix("buckets: 1 own row gave way to the location's and is kept in watch.db.snapsync-kept/") })
        #expect(
            try scene.database("watch.db").run(
                "SELECT count(*) FROM buckets WHERE id = 'mine' OR name = 'Own name'; SELECT title FROM notifications WHERE id = 'n'") == "1\nOwn\n")
        try scene.succeed("check watch.db --local")
        let file = try #require(kept.split(separator: " ").last.map(String.init))
        #expect(String(decoding: try Gzip.jsonTool(scene.scratch.path(file)), as: UTF8.self).contains("\"name\": \"Own name\""))
        // In its own database the file adds what the table lacks or has in an earlier form, and removes nothing.
        let all = "SELECT count(*) FROM buckets"
        let count = try scene.value(all, in: "watch.db")
        try scene.succeed("import watch.db --file \(file)")
        #expect(try scene.value("SELECT name FROM buckets WHERE id = '\(taken)'", in: "watch.db") == "Own name")
        #expect(try scene.value(all, in: "watch.db") == count)
        #expect(try scene.succeed("import watch.db --file \(file)").contains("buckets: 1 row of the file left out"))
        // Anybody who wants it back has it.
        try scene.succeed("generate any.db --notifications 1 --buckets 1")
        try scene.succeed("import any.db --file \(file)")
        #expect(try scene.database("any.db").run("SELECT name FROM buckets") == "Own name\n")
        // An overlay survives the next version.
        try scene.markRead(2)
        try scene.succeed("sync phone.db --quiet")
        try scene.succeed("sync watch.db --quiet")
        #expect(try scene.database("watch.db").run("SELECT title FROM notifications WHERE id = 'n'") == "Own\n")
    }

    /// The application goes on while the database is not set up. What it wrote is in the table, in the journal or in the file.
    @Test(arguments: zip(["reader", "peer"], [true, false])) func whatWasEditedAfterADetachIsKept(role: String, isWaiting: Bool) throws {
        let scene = try Scene.pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT, w TEXT); INSERT INTO t VALUES('1', 'x', 'x'), ('2', 'p', 'p'), ('3', 'q', 'q')",
            roles: (role == "peer" ? "peer" : "writer --reader-edits all", role))
        if isWaiting { try scene.database("b.db").run("UPDATE t SET v = 'waits' WHERE id = '1'") }
        try scene.succeed("detach b.db")
        try scene.database("b.db").run("UPDATE t SET w = 'later 1' WHERE id = '1'; UPDATE t SET v = 'later 2' WHERE id = '2'")
        try scene.database("a.db").run("UPDATE t SET v = 'of a' WHERE id = '2'; UPDATE t SET w = 'of a' WHERE id = '3'")
        try scene.sync("a")
        try scene.succeed(Scene.setUp("b.db", as: role, "--keep-local"))
        #expect(try scene.succeed("sync b.db").contains("own rows gave way to the location's and are kept in b.db.snapsync-kept/"))
        try scene.sync("a", "b")
        let rows = ["1|\(isWaiting ? "waits" : "x")|x", "2|of a|p", "3|q|of a"].joined(separator: "\n") + "\n"
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT * FROM t ORDER BY id") == rows) }
        let folder = scene.scratch.path("b.db.snapsync-kept")
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder).map { String(decoding: try Gzip.jsonTool("\(folder)/\($0)"), as: UTF8.self) }
        for value in ["later 1", "later 2"] { #expect(kept.joined().contains(value)) }
    }

    @Test func datasetsMergePolicyDecidesTheFirstImport() throws {
        let scene = try Scene()
        for (name, merge) in [("union.json", "merge"), ("single.json", "single"), ("wrong.json", "newest")] {
            try scene.scratch.write(
                """
                {"formatVersion": 1, "datasets": [{"name": "settings", "key": "id", "timestamp": "at", "merge": "\(merge)", "columns": [
                  {"name": "id", "type": "text"}, {"name": "at", "type": "text"}, {"name": "color", "type": "text", "optional": true}]}]}
                """, to: name)
        }
        for (database, values) in [
            ("a.db", "('x', '2024-01-01T00:00:00Z', 'red'), ('y', '2024-01-01T00:00:00Z', 'red')"),
            ("b.db", "('x', '2025-01-01T00:00:00Z', 'blue'), ('z', '2023-01-01T00:00:00Z', 'blue')"), ("c.db", "('w', '2026-01-01T00:00:00Z', NULL)"),
        ] {
            try scene.database(database).run(
                "PRAGMA journal_mode = WAL; CREATE TABLE settings(id TEXT PRIMARY KEY, at TEXT NOT NULL, color TEXT); INSERT INTO settings VALUES\(values)")
        }
        try scene.refuse(
            "init a.db cloud --name a --datasets wrong.json", exit: 78, saying: ["wrong.json", "merge"], asJSONToo: true)
        try scene.succeed("init a.db cloud --name a --datasets union.json")
        try scene.succeed("export a.db")
        try scene.succeed("join b.db cloud --name b --datasets union.json")
        #expect(try scene.run("sync b.db").status == 0)
        #expect(try scene.database("b.db").run("SELECT id, color FROM settings ORDER BY id") == "x|blue\ny|red\nz|blue\n")
        try scene.succeed("join c.db cloud --name c --datasets single.json")
        let text = try scene.run("sync c.db").text
        #expect(try scene.database("c.db").run("SELECT id, color FROM settings ORDER BY id") == "w|\n")
        #expect(text.contains("settings: 2 entities deleted: only one may be left"))
    }

    /// Two peers with a row each in a table of which one row may stay.
    private func settings(_ tables: String, _ rows: (a: String, b: String), children: String = "") throws -> Scene {
        let scene = try Scene()
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [{"name": "s", "key": "id", "timestamp": "at", "merge": "single", "columns": [
              {"name": "id"}, {"name": "name"}, {"name": "at"}]}\(children)]}
            """, to: "d.json")
        for (name, rows) in [("a", rows.a), ("b", rows.b)] {
            try scene.database("\(name).db").run(
                "CREATE TABLE s(id TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE, at TEXT); \(tables); INSERT INTO s VALUES\(rows)")
            try scene.succeed("init \(name).db cloud --peers --name \(name) --datasets d.json")
        }
        return scene
    }

    @Test(arguments: [true, false]) func theOneRowThatMayStayHasAUniqueValueOfTheOther(isLater: Bool) throws {
        let scene = try settings("SELECT 1", ("('sa', 'main', '2026-02-01T00:00:00Z')", "('sb', 'main', '2026-0\(isLater ? 3 : 1)-01T00:00:00Z')"))
        try scene.sync("a", "b", "a")
        let left = isLater ? "sb" : "sa"
        for name in ["a", "b"] {
            #expect(try scene.value("SELECT group_concat(id) FROM s", in: "\(name).db") == left)
            #expect(try !scene.succeed("conflicts \(name).db").contains(isLater ? "sa" : "sb"))
            try scene.succeed("check \(name).db --local")
        }
        // What gave way does not come back.
        try scene.database("a.db").run("UPDATE s SET name = 'other', at = '2026-04-01T00:00:00Z'")
        try scene.sync("a", "b")
        #expect(try scene.value("SELECT id || name FROM s", in: "b.db") == left + "other")
    }

    @Test(arguments: [true, false]) func aRowThatIsReferredToStaysBesideTheOneThatMay(isLater: Bool) throws {
        let scene = try settings(
            "CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, s TEXT NOT NULL REFERENCES s)",
            (
                "('sa', 'a', '2026-02-01T00:00:00Z'); INSERT INTO c VALUES('ca', 'sa')",
                "('sb', 'b', '2026-0\(isLater ? 3 : 1)-01T00:00:00Z'); INSERT INTO c VALUES('cb', 'sb')"
            ),
            children: #", {"name": "c", "key": "id", "columns": [{"name": "id"}, {"name": "s"}]}"#)
        try scene.sync("a")
        let said = try scene.succeed("sync b.db")
        #expect(said.contains("s: 1 entity kept beside the one that may be left: rows refer to it"), "\(said)")
        try scene.sync("a")
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT id, s FROM c ORDER BY id; SELECT id FROM s ORDER BY id") == "ca|sa\ncb|sb\nsa\nsb\n")
            try scene.succeed("check \(name).db --local")
        }
    }

    @Test func halfOfADatasetGoesOnlyWithAnApprovalThatReadersNeedNotRepeat() throws {
        let scene = try Scene.phoneAndWatch(notifications: 40)
        try scene.database("phone.db").run("DELETE FROM notifications WHERE rowid > 5")
        let saying = ["table notifications", "5 of the 40 entities", "--allow-shrink notifications"]
        try scene.refuse("export phone.db", exit: 78, saying: saying, watching: ["phone.db"])
        Scene.checkRefusal(try scene.run("sync phone.db --quiet"), exit: 78, saying: saying)
        try scene.refuse(
            "export phone.db --allow-shrink bucket", exit: 64, saying: ["no dataset bucket", "buckets, notifications"], watching: ["phone.db"])
        try scene.refuse("export phone.db --allow-shrink buckets", exit: 78, saying: ["5 of the 40 entities"], watching: ["phone.db"])
        try scene.succeed("sync phone.db --quiet --allow-shrink notifications")
        #expect(try String(decoding: scene.scratch.read(scene.newest("commits")), as: UTF8.self).contains("\"approvals\":[\"shrink:notifications_data\"]"))
        #expect(try scene.succeed("sync watch.db --quiet") == "")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func nameThatIsTakenIsGivenAwayOnlyWhenItIsAskedFor() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.refuse(
            "join other.db cloud --name watch", exit: 78,
            saying: ["a reader has synced as watch before", "--take-over", "--name"])
        #expect(!scene.scratch.exists("other.db"))
        try scene.succeed("join other.db cloud --name watch --take-over")
        try scene.succeed("sync other.db --quiet")
        // The one that had the name notices at its next import, and goes on under another.
        try scene.markRead(1)
        try scene.succeed("sync phone.db --quiet")
        let warnings = try #require(try scene.json("import watch.db")["warnings"] as? [String])
        #expect(warnings.contains { $0.contains("another database has synced as watch") })
        #expect((try scene.json("status watch.db")["device"] as? String)?.hasPrefix("watch-") == true)
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func restoredBackupOfTheWriterTakesOverAndGoesOn() throws {
        let scene = try Scene.phone()
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "backup.db")
        try scene.markRead(3)
        try scene.succeed("export phone.db")
        try scene.database("backup.db").run("UPDATE buckets SET name = 'Edited after the restore' WHERE rowid = 1")
        Scene.checkRefusal(
            try scene.run("sync backup.db"), exit: 78,
            saying: ["version 2 was published as phone, and not from here", "nothing was published", "device claim backup.db"])
        // Next time the same, in other words: the database has another name now.
        try scene.refuse(
            "export backup.db", exit: 78, saying: ["its one publisher is the device phone, not phone-", "device claim"], watching: ["backup.db"])
        #expect(try scene.succeed("device claim backup.db").hasPrefix("backup.db is a writer of zone ZentikSyncZone"))
        try scene.refuse(
            "sync backup.db", exit: 78, saying: ["version 2 did not come from this database", "run snapsync import backup.db first"],
            watching: ["backup.db"])
        try scene.succeed("import backup.db")
        #expect(try scene.json("sync backup.db")["exported"] != nil)
        #expect(try scene.json("status backup.db")["version"] as? Int == 3)
        #expect(
            try scene.database("backup.db").run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL")
                == scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt IS NOT NULL"))
        try scene.succeed("check backup.db --all-versions --local")
    }
}
