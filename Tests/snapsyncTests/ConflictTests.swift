import Foundation
import TestSupport
import Testing

/// An edit that loses is in the conflict journal, and can be brought back.
@Suite(.runsPrograms) struct ConflictTests {
    private static let datasets = """
        {"formatVersion":1,"datasets":[
          {"name":"task","key":"id","timestamp":"changed","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"},
            {"name":"slot","type":"integer","optional":true},{"name":"changed","type":"text","optional":true}]},
          {"name":"step","key":"id","columns":[{"name":"id","type":"text"},{"name":"task","type":"text","optional":true}]}]}
        """
    private static let tables = """
        CREATE TABLE task(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, slot INTEGER UNIQUE, changed TEXT);
        CREATE TABLE step(id TEXT PRIMARY KEY NOT NULL, task TEXT REFERENCES task(id));
        """

    /// Two peers, `a.db` and `b.db`, that have version 1 with the tasks t1 and t2.
    private func peers() throws -> Scene {
        try Scene.copy(of: "tasks of two peers") { scene in
            try scene.scratch.write(Self.datasets, to: "tasks.json")
            for name in ["a", "b"] { try scene.database("\(name).db").run(Self.tables) }
            try scene.database("a.db").run("INSERT INTO task VALUES('t1', 'one', 1, '2026-01-01T00:00:00Z'), ('t2', 'two', 2, '2026-01-01T00:00:00Z')")
            for name in ["a", "b"] {
                try scene.succeed("init \(name).db cloud --peers --name \(name) --datasets tasks.json")
                try scene.sync(name)
            }
        }
    }

    /// Lets all peers sync until nothing can be new, and sees that they are equal.
    private func settle(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        try scene.sync("a", "b", "a", "b")
        for table in ["task", "step"] {
            let columns = table == "task" ? "id, title, slot, changed" : "id, task"
            let rows = try ["a", "b"].map { try scene.database("\($0).db").query("SELECT \(columns) FROM \(table) ORDER BY id") }
            #expect(rows[0] == rows[1], sourceLocation: location)
        }
    }

    private func entries(_ scene: Scene, _ name: String, _ flags: String = "") throws -> [[String: Any]] {
        try #require(try scene.json("conflicts list \(name).db \(flags)")["conflicts"] as? [[String: Any]])
    }

    private func side(_ entry: [String: Any], _ name: String) throws -> [String: Any] { try #require(entry[name] as? [String: Any]) }

    /// Whose edit won is known if one device alone has published since. The last publisher of a table need not have changed the row.
    @Test(arguments: [false, true]) func theAuthorOfWhatWonIsNamedWhereItIsKnown(isOthersBetween: Bool) throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET title = 'of a' WHERE id = 't1'")
        if isOthersBetween {
            try scene.succeed("join c.db cloud --peer --name c")
            try scene.sync("c")
        }
        try scene.database("b.db").run("UPDATE task SET title = 'of b' WHERE id = 't1'")
        try scene.sync("b")
        if isOthersBetween {
            try scene.database("c.db").run("UPDATE task SET title = 'of c' WHERE id = 't2'")
            try scene.sync("c")
        }
        try scene.sync("a")
        let entry = try #require(try entries(scene, "a").first)
        #expect(try side(entry, "lost")["device"] as? String == "a")
        #expect(try side(entry, "kept")["device"] as? String == (isOthersBetween ? nil : "b"))
    }

    /// It is told why an edit lost, and which of its columns.
    @Test func theReasonAndTheColumnsThatLostAreTold() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET slot = 9 WHERE id = 't1'; INSERT INTO step VALUES('s', 't1')")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE task SET slot = 9, title = 'renamed' WHERE id = 't2'; DELETE FROM task WHERE id = 't1'")
        let text = try scene.succeed("sync b.db")
        #expect(
            text.contains("1 deletion was not made, because other rows refer to the row, 1 edit did not fit beside other rows; see: snapsync conflicts"),
            "\(text)")
        let entry = try #require(try entries(scene, "b").first { $0["reason"] as? String == "valueTaken" }), id = try #require(entry["id"] as? Int)
        #expect(try side(entry, "kept")["entity"] as? String == #"{"id":"t2","title":"renamed","slot":2,"changed":"2026-01-01T00:00:00Z"}"#)
        let shown = try scene.succeed("conflicts show b.db \(id)")
        #expect(shown.contains("slot: 9 lost, 2 was kept") && shown.contains("title: \"renamed\" was kept"), "\(shown)")
    }

    @Test func theEarlierOfTwoEditsIsKeptWhoeverSyncsFirst() throws {
        for order in [["a", "b"], ["b", "a"]] {
            let scene = try peers()
            try scene.database("a.db").run("UPDATE task SET title = 'by a', changed = '2026-02-01T00:00:00Z' WHERE id = 't1'")
            try scene.database("b.db").run("UPDATE task SET title = 'by b', changed = '2026-02-02T00:00:00Z' WHERE id = 't1'")
            try scene.succeed("sync \(order[0]).db")
            let report = try scene.json("sync \(order[1]).db")
            #expect((report["imported"] as? [String: Any])?["conflicts"] as? Int == 1)
            #expect(
                try scene.succeed("status \(order[1]).db").contains("1 edit lost and not yet reviewed; see: snapsync conflicts \(order[1]).db"))
            try settle(scene)
            #expect(try scene.database("a.db").query("SELECT title FROM task WHERE id = 't1'") == "by b")
            #expect(try entries(scene, order[0]).isEmpty)
            let entry = try #require(try entries(scene, order[1]).first)
            #expect(entry["reason"] as? String == "laterEdit")
            #expect(entry["key"] as? String == "t1")
            #expect(try side(entry, "lost")["entity"] as? String == #"{"id":"t1","title":"by a","slot":1,"changed":"2026-02-01T00:00:00Z"}"#)
            #expect(try side(entry, "lost")["device"] as? String == "a")
            #expect(try side(entry, "kept")["device"] as? String == "b")
            #expect((entry["columns"] as? [[String: Any]])?.compactMap { $0["name"] as? String } == ["title"])

            #expect(try scene.succeed("conflicts take \(order[1]).db 1").contains("task t1 is the edit that had lost"))
            #expect(try scene.database("\(order[1]).db").query("SELECT title FROM task WHERE id = 't1'") == "by a")
            try settle(scene)
            #expect(try scene.database("\(order[0]).db").query("SELECT title FROM task WHERE id = 't1'") == "by a")
            #expect(try scene.succeed("conflicts \(order[1]).db") == "no edit has lost to another one\n")
            #expect(try entries(scene, order[1]).first?["state"] as? String == "taken")
            let again = try scene.run("conflicts take \(order[1]).db 1")
            #expect(again.status == 78)
            #expect(again.errorText.contains("it was taken already"))
        }
    }

    @Test func deletionsAndEditsThatLoseToEachOtherAreKept() throws {
        let scene = try peers()
        try scene.database("a.db").run("DELETE FROM task WHERE id = 't1'; UPDATE task SET title = 'by a', changed = '2026-02-01T00:00:00Z' WHERE id = 't2'")
        try scene.sync("a")
        // A clock's millisecond is what the deletion of a and the edit of b are told apart by.
        try scene.database("b.db").run("UPDATE task SET title = 'by b', changed = '2099-01-01T00:00:00Z' WHERE id = 't1'; DELETE FROM task WHERE id = 't2'")
        try settle(scene)
        let kept = try entries(scene, "b")
        #expect(kept.map { $0["key"] as? String } == ["t1", "t2"])
        #expect(try kept.map { try side($0, "lost")["isDeletion"] as? Bool } == [true, false])
        #expect(kept.map { $0["reason"] as? String } == ["laterEdit", "laterDeletion"])
        // The deletion is made again, and the edit comes back.
        try scene.succeed("conflicts take b.db 1")
        try scene.succeed("conflicts take b.db 2")
        try settle(scene)
        #expect(try scene.database("a.db").query("SELECT id, title FROM task") == "t2|by a")
    }

    @Test func nothingIsRecordedWhereNothingIsLost() throws {
        let scene = try peers()
        // An edit on top of what the other device has made, one after another.
        for (name, title) in [("a", "first"), ("b", "second"), ("a", "third")] {
            try scene.succeed("sync \(name).db")
            try scene.database("\(name).db").run("UPDATE task SET title = '\(title)' WHERE id = 't1'")
            try scene.succeed("sync \(name).db")
        }
        // The same edit at both; different rows; a timestamp alone.
        for name in ["a", "b"] {
            try scene.succeed("sync \(name).db")
        }
        try scene.database("a.db").run("UPDATE task SET title = 'same', changed = '2026-03-01T00:00:00Z'; INSERT INTO task VALUES('new-a', 'x', 10, NULL)")
        try scene.database("b.db").run("UPDATE task SET title = 'same', changed = '2026-03-02T00:00:00Z'; INSERT INTO task VALUES('new-b', 'y', 11, NULL)")
        try settle(scene)
        for name in ["a", "b"] { #expect(try entries(scene, name, "--all").isEmpty) }
        #expect(try scene.database("a.db").query("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_conflicts'") == "0")
    }

    /// A reader's mark is not lost to an edit of the text; what the reader wrote into the same column is, and is kept.
    @Test func whatComesWithAReadMarkIsKeptWhenOnlyTheMarkGoesOn() throws {
        let scene = try Scene.phoneAndWatch(notifications: 2, buckets: 1)
        let row = "WHERE id = (SELECT min(id) FROM notifications)", now = "updatedAt = strftime('%Y-%m-%dT%H:%M:%fZ')"
        try scene.database("watch.db").run("UPDATE notifications SET body = 'by the watch', readAt = '2026-01-01T00:00:00Z', \(now) \(row)")
        try scene.succeed("status watch.db")
        try scene.database("phone.db").run("UPDATE notifications SET body = 'by the phone', \(now) \(row)")
        try scene.sync("phone")
        #expect(try scene.succeed("sync watch.db").contains("1 edit lost to a later one"))
        try scene.sync("phone", "watch", "phone", "watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("phone.db").run("SELECT body FROM notifications \(row)") == "by the phone\n")
        let kept = try entries(scene, "watch")
        #expect(kept.count == 1 && kept.first?["reason"] as? String == "laterEdit")
        #expect(try (side(#require(kept.first), "lost")["entity"] as? String)?.contains("by the watch") == true)
    }

    @Test func aComparisonOfAllRowsFindsTheSameConflicts() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET title = 'by a', changed = '2026-02-01T00:00:00Z' WHERE id = 't1'")
        try scene.sync("a")
        try scene.database("b.db").run(
            "UPDATE task SET title = title || ' of b', changed = '2026-02-02T00:00:00Z'; UPDATE snapsync_tracking SET isComplete = 0")
        try settle(scene)
        #expect(try entries(scene, "b").map { $0["key"] as? String } == ["t1"])
    }

    @Test func twoRowsWithOneIntegerKeyAreBothKept() throws {
        let scene = try Scene()
        try scene.scratch.write(
            #"{"formatVersion":1,"datasets":[{"name":"todo","key":"id","columns":[{"name":"id","type":"integer"},{"name":"text","type":"text","optional":true}]}]}"#,
            to: "todo.json")
        for name in ["a", "b"] {
            try scene.database("\(name).db").run("CREATE TABLE todo(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)")
            if name == "a" { try scene.database("a.db").run("INSERT INTO todo(text) VALUES('one')") }
            let report = try scene.json("init \(name).db cloud --peers --name \(name) --datasets todo.json --shared-keys")
            let warning = try #require((report["warnings"] as? [String])?.first)
            #expect(warning.contains("todo: SQLite gives new rows the next free integer as their key (AUTOINCREMENT)"))
            try scene.succeed("sync \(name).db")
        }
        try scene.database("a.db").run("INSERT INTO todo(text) VALUES('a: buy milk')")
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('b: call mum')")
        try scene.sync("a")
        #expect(try scene.succeed("sync b.db").contains("1 edit lost to another row with the same key; see: snapsync conflicts b.db"))
        let entry = try #require(try entries(scene, "b").first)
        #expect(entry["reason"] as? String == "sameKey")
        #expect(try side(entry, "lost")["entity"] as? String == #"{"id":2,"text":"a: buy milk"}"#)
        #expect(try scene.succeed("conflicts take b.db 1").contains("todo 3 is the edit that had lost, under a new key"))
        for name in ["b", "a"] {
            try scene.succeed("sync \(name).db")
            #expect(try scene.database("\(name).db").query("SELECT * FROM todo") == "1|one\n2|b: call mum\n3|a: buy milk")
        }
        // The application's next row gets a key of its own.
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('next')")
        #expect(try scene.database("b.db").query("SELECT max(id) FROM todo") == "4")
    }

    @Test func whatTheTableForbidsIsNotTaken() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET slot = 7, changed = '2026-02-01T00:00:00Z' WHERE id = 't1'")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE task SET slot = 8, changed = '2026-02-02T00:00:00Z' WHERE id = 't1'; INSERT INTO step VALUES('s1', 't2')")
        try scene.sync("b")
        try scene.database("b.db").run("UPDATE task SET slot = 7 WHERE id = 't2'")
        let before = try scene.database("b.db").query("SELECT * FROM task")
        let taken = try scene.run("conflicts take b.db 1")
        #expect(taken.status == 78)
        #expect(taken.errorText.contains("UNIQUE constraint failed") && taken.errorText.contains("nothing was changed"))
        #expect(try scene.database("b.db").query("SELECT * FROM task") == before)
        #expect(try scene.run("conflicts take b.db 1 --as-new").status == 78)
        #expect(try scene.run("conflicts take b.db 9").status == 66)
        #expect(try scene.run("conflicts take b.db 1 --as-new --in-place").status == 64)
        #expect(try scene.succeed("conflicts clear b.db") == "cleared 1 conflict\n")
        #expect(try scene.json("status b.db")["conflicts"] as? Int == 0)
        #expect(try entries(scene, "b", "--all").first?["state"] as? String == "cleared")
    }

    @Test func aChildWhoseParentIsGoneIsNotTaken() throws {
        let scene = try peers()
        try scene.database("a.db").run("INSERT INTO step VALUES('s1', NULL)")
        try scene.sync("a", "b")
        try scene.database("a.db").run("UPDATE step SET task = 't2' WHERE id = 's1'")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE step SET task = 't1' WHERE id = 's1'")
        try scene.sync("b")
        try scene.database("b.db").run("DELETE FROM task WHERE id = 't2'")
        let taken = try scene.run("conflicts take b.db 1")
        #expect(taken.status == 78)
        #expect(taken.errorText.contains("it refers to a row that is not there; nothing was changed"))
        #expect(try scene.database("b.db").query("SELECT task FROM step") == "t1")
    }

    @Test func aWatchAMonitorAndAQuietSyncTellOfConflicts() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET title = 'by a', changed = '2026-02-01T00:00:00Z'")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE task SET title = 'by b', changed = '2026-02-02T00:00:00Z'")
        let run = try scene.run("sync b.db --quiet")
        #expect(run.status == 0)
        #expect(run.text == "")
        #expect(run.errorText == "snapsync: notice: 2 edits lost to later ones; see: snapsync conflicts b.db\n")
        try scene.succeed("status b.db --prometheus b.prom")
        let metrics = String(decoding: try scene.scratch.read("b.prom"), as: UTF8.self)
        #expect(metrics.split(separator: "\n").contains { $0.hasPrefix("snapsync_open_conflicts") && $0.hasSuffix(" 2") })
    }

    @Test func detachKeepsWhatIsOpen() throws {
        let scene = try peers()
        try scene.database("a.db").run("UPDATE task SET title = 'by a', changed = '2026-02-01T00:00:00Z'")
        try scene.sync("a")
        try scene.database("b.db").run("UPDATE task SET title = 'by b', changed = '2026-02-02T00:00:00Z'")
        try scene.sync("b")
        try scene.succeed("conflicts clear b.db 2")
        try scene.succeed("detach b.db")
        #expect(try scene.database("b.db").query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0")
        let text = try Python.run(
            """
            import glob, gzip, json
            for name in glob.glob('b.db.snapsync-kept/*-task.json.gz'): print(json.dumps(json.load(gzip.open(name))['task'], sort_keys=True))
            """, in: scene.scratch.path)
        #expect(text == #"[{"changed": "2026-02-01T00:00:00Z", "id": "t1", "slot": 1, "title": "by a"}]"# + "\n")
    }
}

extension SQLiteShell {
    /// What a query prints, without the line's end.
    fileprivate func query(_ sql: String) throws -> String { String(try run(sql).drop(while: \.isNewline).reversed().drop(while: \.isNewline).reversed()) }
}
