import Foundation
import TestSupport
import Testing

/// Tables join a zone, leave it and come back.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct TableUpdateTests {
    /// SQLite takes both names for one.
    @Test func aTableWhoseNameTheZoneHasInOtherCaseIsRefused() throws {
        let scene = try Scene.tasks("peer", "peer")
        for (name, table) in [("a", "Tag"), ("b", "tag")] {
            try scene.database("\(name).db").run("CREATE TABLE \(table)(id TEXT PRIMARY KEY NOT NULL); INSERT INTO \(table) VALUES('of \(name)')")
            try scene.succeed("tables add \(name).db \(table)")
        }
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("to take over the zone's: snapsync tables remove b.db tag && snapsync tables adopt b.db --create"))
        for line in ["tables remove b.db tag", "tables adopt b.db --create"] { try scene.succeed(line) }
        for name in ["b", "a"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] { #expect(try scene.rows(name, table: "tag") == ["of a", "of b"]) }
    }

    @Test func aTableJoinsAndLeavesAZone() throws {
        for (role, other) in [("writer", "reader"), ("peer", "peer")] {
            let scene = try Scene.tasks(role, other)
            try scene.database("a.db").run("CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL, task TEXT REFERENCES task(id)); INSERT INTO tag VALUES('red', 't1')")
            try scene.succeed("sync a.db")
            #expect(try scene.succeed("tables adopt a.db").contains("not synced: tag"))
            #expect(try scene.succeed("tables add a.db tag").contains("the table tag is synced from now on"))
            try scene.succeed("sync a.db")
            #expect(try scene.succeed("sync b.db").contains("the zone has the dataset tag, which this device does not know"))
            try scene.succeed("tables adopt b.db --create")
            try scene.succeed("sync b.db")
            #expect(try scene.rows("b", table: "tag") == ["red|t1"])
            #expect(try scene.database("b.db").run("SELECT \"table\", \"from\", \"to\" FROM pragma_foreign_key_list('tag')") == "task|task|id\n")
            // Taken out: rows stay everywhere, and the versions that had it keep it.
            try scene.database("a.db").run("INSERT INTO tag VALUES('blue', 't2')")
            try scene.succeed("tables remove a.db tag")
            #expect(try scene.database("a.db").run("SELECT key FROM snapsync_state WHERE key LIKE '%:tag'") == "")
            try scene.succeed("sync a.db")
            #expect(try scene.succeed("sync b.db").contains("tag"))
            for name in ["a", "b", "a"] { try scene.succeed("sync \(name).db") }
            #expect(try scene.rows("a", table: "tag") == ["blue|t2", "red|t1"])
            #expect(try scene.rows("b", table: "tag") == ["red|t1"])
            #expect(try scene.succeed("show b.db tag --at 2").contains(#""id":"red""#))
            #expect(try scene.run("show b.db tag").status == 66)
            try scene.succeed("tables remove b.db tag")
            try scene.database("b.db").run("DROP TABLE tag")
            for name in ["b", "a"] { try scene.succeed("sync \(name).db") }
            try scene.succeed("check a.db --all-versions")
        }
    }

    /// A version has a dataset's rows if and only if it has its description. Otherwise no device can join the zone.
    @Test func aDatasetLeavesAndReturnsWithItsDescription() throws {
        let scene = try Scene.tasks("peer", "peer")
        var joined = 0
        /// Syncs everybody and has one more device join. Returns the tags that it gets; nil if the zone has no tags.
        func tags() throws -> [String]? {
            for name in ["a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
            joined += 1
            try scene.succeed("join j\(joined).db cloud --name j\(joined)")
            try scene.succeed("sync j\(joined).db")
            let isThere = try scene.database("j\(joined).db").run("SELECT count(*) FROM sqlite_schema WHERE name = 'tag'") == "1\n"
            #expect(try scene.run("show a.db tag").status == (isThere ? 0 : 66))
            return isThere ? try scene.rows("j\(joined)", "name", table: "tag") : nil
        }
        try scene.database("a.db").run("CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL, name TEXT); INSERT INTO tag VALUES('1', 'red')")
        for line in ["tables add a.db tag", "sync a.db", "sync b.db", "tables adopt b.db --create"] { try scene.succeed(line) }
        #expect(try tags() == ["red"])

        // Put back before the removal was published.
        for (name, way) in [("a", "tables add a.db tag"), ("b", "tables adopt b.db --create"), ("b", "tables add b.db tag")] {
            try scene.succeed("tables remove \(name).db tag")
            try scene.succeed(way)
            #expect(try tags()?.count == 1)
            try scene.database("\(name).db").run("UPDATE tag SET name = 'of \(name) \(way)'")
            #expect(try tags() == ["of \(name) \(way)"])
        }
        // Taken out while the other device has an edit of it. The other device keeps its rows to itself until somebody puts them back.
        try scene.succeed("tables remove a.db tag")
        try scene.succeed("sync a.db")
        try scene.database("b.db").run("UPDATE tag SET name = 'blue'; UPDATE task SET title = 'by b' WHERE id = 't1'")
        #expect(try scene.succeed("sync b.db").contains("another device has taken the dataset tag out of the zone; its rows stay here"))
        #expect(try tags() == nil)
        try scene.database("b.db").run("UPDATE tag SET name = 'green'")
        #expect(try tags() == nil)
        #expect(try scene.rows("b", table: "tag") == ["1|green"])
        #expect(try scene.succeed("tables add b.db tag").contains("the table tag is synced again as the dataset tag"))
        #expect(try tags() == ["green"])
        #expect(try scene.succeed("tables adopt a.db --create").contains("the dataset tag is imported from now on"))
        #expect(try tags() == ["green"] && scene.rows("a", table: "tag") == ["1|green"])
        // Put back by the other device at once.
        for line in ["tables remove a.db tag", "sync a.db", "sync b.db", "tables add b.db tag", "sync b.db"] { try scene.succeed(line) }
        #expect(try tags() == ["green"])
        try scene.succeed("tables adopt a.db --create")
        // What one device takes out after the other did, it does not take out again later.
        for line in ["tables remove a.db tag", "sync a.db", "sync b.db"] { try scene.succeed(line) }
        #expect(try scene.succeed("tables remove b.db tag").contains("is no longer synced here; its rows stay"))
        try scene.succeed("tables add a.db tag")
        #expect(try tags() == ["green"])
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func valuesThatATableStillLacksWhenItLeavesAreNotWaitedFor() throws {
        let scene = try Scene.twoTables("writer", "reader")
        try scene.database("a.db").run("ALTER TABLE o ADD COLUMN w TEXT; INSERT INTO o(id, w) VALUES('1', 'new')")
        for line in ["sync a.db", "sync b.db", "tables adopt b.db --create", "tables remove a.db o", "sync a.db", "sync b.db"] { try scene.succeed(line) }
        #expect(try scene.succeed("sync b.db").contains("is here already"))
    }

    /// A version that is gone takes the description with it. The device that has the column describes it again, and puts the table back when it is told to.
    @Test func whatARollbackTookOfADescriptionIsPublishedAgain() throws {
        let scene = try Scene.tasks("peer", "peer"), files = FileManager.default
        let cloud = scene.scratch.path("cloud"), before = scene.scratch.path("before")
        try files.copyItem(atPath: cloud, toPath: before)
        try scene.database("a.db").run(
            "ALTER TABLE task ADD COLUMN due TEXT; UPDATE task SET due = 'friday'; CREATE TABLE tag(id TEXT PRIMARY KEY NOT NULL); INSERT INTO tag VALUES('red')"
        )
        try scene.succeed("tables add a.db tag")
        try scene.succeed("sync a.db")
        try files.removeItem(atPath: cloud)
        try files.moveItem(atPath: before, toPath: cloud)
        for number in 1...2 {
            try scene.database("b.db").run("UPDATE task SET title = 'by b \(number)' WHERE id = 't1'")
            try scene.succeed("sync b.db")
        }
        try scene.succeed("import a.db --accept-rollback \(#require(scene.versions().first))")
        #expect(try scene.succeed("sync a.db").contains("to put it back: snapsync tables add a.db tag"))
        for line in ["tables add a.db tag", "sync a.db", "tables adopt b.db --create"] { try scene.succeed(line) }
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.succeed("join c.db cloud --name c")
        try scene.succeed("sync c.db")
        for name in ["a", "b", "c"] {
            #expect(try scene.rows(name, "id, title, due") == ["t1|by b 2|friday", "t2|two|friday", "t3|three|friday"])
            #expect(try scene.rows(name, table: "tag") == ["red"])
        }
    }

    /// The reader goes on editing a table that left the zone, or has done so before. Its edits of other tables arrive all the same.
    @Test(arguments: [false, true], ["--reader-edits all", "--reader-edits o"])
    func editsOfATableThatLeftTheZoneStopNothing(isSent: Bool, edits: String) throws {
        let scene = try Scene.twoTables("writer", "reader", edits)
        let edit = "UPDATE t SET v = 'of the reader' WHERE id = 'x'; INSERT INTO o VALUES('\(isSent)', 'order')"
        if isSent {
            try scene.database("b.db").run(edit)
            try scene.succeed("sync b.db")
        }
        try scene.succeed("tables remove a.db t")
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        if !isSent { try scene.database("b.db").run(edit) }
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        try scene.database("b.db").run("INSERT INTO o VALUES('later', 'order')")
        #expect(try scene.succeed("sync b.db").contains("t: 1 change stays here: the zone has no such dataset"))
        for name in ["a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("a", table: "o") == ["\(isSent)|order", "later|order"].sorted())
        #expect(try scene.rows("b", table: "t") == ["x|of the reader", "y|2"])
        for name in ["a", "b"] {
            let messages = try scene.json("pending \(name).db")
            #expect((messages["setAside"] as? [Any])?.isEmpty == true && (messages["waiting"] as? [Any])?.isEmpty == true, "\(messages)")
            try scene.succeed("check \(name).db --local")
        }
        // What was handed over before is not lost without a word.
        let isRefused = isSent && edits.hasSuffix("all")
        #expect(try scene.succeed("conflicts a.db --json").contains("of the reader") == isRefused)
        // The table returns with the reader's edit, which is sent now.
        try scene.succeed("tables add a.db t")
        try scene.succeed("tables edits a.db \(edits.dropFirst("--reader-edits ".count))")
        for name in ["a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try !scene.succeed("sync b.db").contains("no such dataset"))
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    /// Two devices edit a row while its table is out of the zone, and neither has seen the other's edit.
    @Test(arguments: [false, true]) func whatLosesWhenATableReturnsIsInTheJournal(seesIt: Bool) throws {
        let scene = try Scene.twoTables("peer", "peer")
        try scene.succeed("tables remove a.db t")
        try scene.succeed("sync a.db")
        if seesIt { try scene.succeed("sync b.db") }
        for name in ["b", "a"] { try scene.database("\(name).db").run("UPDATE t SET v = 'of \(name)' WHERE id = 'x'") }
        try scene.succeed("tables add a.db t")
        for name in ["a", "b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.rows(name, table: "t") == ["x|of b", "y|2"])
            try scene.succeed("check \(name).db --local")
        }
        let list = try scene.succeed("conflicts b.db")
        #expect(list.hasPrefix("1 edit lost") && list.contains(#"v: "of a" lost, "of b" was kept"#), "\(list)")
        // From then on, edits of the dataset are like others.
        try scene.database("b.db").run("UPDATE t SET v = 'again' WHERE id = 'x'")
        for name in ["b", "a"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.succeed("conflicts b.db") == list && scene.rows("a", table: "t") == ["x|again", "y|2"])
    }

    /// Whoever takes a table out and puts it back need not have seen what another device has published of it meanwhile.
    @Test(arguments: [false, true]) func whatAReturningTableReplacesIsKept(seesIt: Bool) throws {
        let scene = try Scene.twoTables("peer", "peer")
        try scene.database("b.db").run("UPDATE t SET v = 'precious' WHERE id = 'x'; INSERT INTO t VALUES('z', 'own')")
        try scene.succeed("sync b.db")
        for line in ["tables remove a.db t", "sync a.db"] { try scene.succeed(line) }
        if seesIt { try scene.succeed("sync b.db") }
        for line in ["tables add a.db t", "sync a.db"] { try scene.succeed(line) }
        #expect(try scene.succeed("sync b.db").contains("t: 2 own rows gave way to the location's and are kept in b.db.snapsync-kept/"))
        #expect(try scene.rows("a", table: "t") == ["x|1", "y|2"] && scene.rows("b", table: "t") == ["x|1", "y|2"])
        let kept = try #require(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("b.db.snapsync-kept")).first)
        try scene.succeed("import b.db --add --file b.db.snapsync-kept/\(kept)")
        for name in ["b", "a"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.rows("a", table: "t").contains("z|own"))
    }

    /// What was handed over and no version has is told, and is kept where no table has it any more.
    @Test(arguments: [false, true]) func editsThatWereSentAreToldAndKeptWhenTheirTableIsTakenOut(isDropped: Bool) throws {
        let scene = try Scene.twoTables("writer", "reader", "--reader-edits all")
        try scene.database("b.db").run("UPDATE t SET v = 'changed' WHERE id = 'x'; INSERT INTO t VALUES('n', 'new'); DELETE FROM t WHERE id = 'y'")
        #expect(try scene.succeed("sync b.db").contains("sent 3 edits"))
        if isDropped { try scene.database("b.db").run("DROP TABLE t") }
        let said = try scene.succeed("tables remove b.db t")
        #expect(said.contains("the next sync takes back 3 edits of it that no version has"), "\(said)")
        #expect(said.contains("2 rows that no table has: ") == isDropped, "\(said)")
        #expect(said.contains("its rows stay") == !isDropped, "\(said)")
        for name in ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        #expect(try scene.succeed("pending b.db").contains("no edit waits"))
        guard isDropped else { return #expect(try scene.rows("b", table: "t") == ["n|new", "x|changed"]) }
        // The file returns them when the table is synced again.
        let file = try #require(said.split(separator: " ").last { $0.contains(".snapsync-kept/") }).trimmingCharacters(in: .newlines)
        try scene.succeed("tables adopt b.db --create")
        try scene.succeed("sync b.db")
        #expect(try scene.rows("b", table: "t") == ["x|1", "y|2"])
        try scene.succeed("import b.db --file \(file)")
        #expect(try scene.rows("b", table: "t").contains("n|new"))
    }

    /// A migration renames a table, drops a column and makes a table, on each device with a row of its own. The command that `sync` prints is about
    /// what is synced alone.
    @Test func whatChangedOfSyncedTablesIsAdoptedBesideANewTableOfTheZone() throws {
        let scene = try Scene.twoTables("writer", "reader")
        for name in ["a", "b"] {
            try scene.database("\(name).db").run(
                "ALTER TABLE t RENAME TO tasks; ALTER TABLE o DROP COLUMN v; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL); INSERT INTO n VALUES('\(name)')")
        }
        try scene.succeed("tables add a.db n")
        try scene.database("a.db").run("UPDATE tasks SET v = 'later' WHERE id = 'x'")
        try scene.succeed("sync a.db")
        #expect(try scene.refused("sync b.db").contains("snapsync tables adopt b.db"))
        #expect(try scene.succeed("tables adopt b.db").contains("the dataset n, which is not synced here; snapsync tables adopt --create takes the table n in"))
        #expect(try scene.succeed("sync b.db").contains("tables adopt b.db --create takes it in"))
        #expect(try scene.rows("b", table: "tasks") == ["x|later", "y|2"])
        // A table with rows of other origin is taken in when somebody has decided about them.
        #expect(try scene.refused("tables adopt b.db --create").contains("the table has rows that did not come from there"))
        try scene.database("b.db").run("DELETE FROM n")
        try scene.succeed("tables adopt b.db --create")
        try scene.succeed("sync b.db")
        #expect(try scene.rows("b", table: "n") == ["a"])
    }
}
