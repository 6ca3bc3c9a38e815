import TestSupport
import Testing

/// Single columns of rows that readers edit, which travel by themselves (`"messages": {"patch": [..]}`).
@Suite(.runsPrograms) struct PatchedColumnsTests {
    private static let patches = """
        {"formatVersion": 1, "datasets": [
          {"name": "tasks", "table": "todo", "key": "id", "timestamp": "updated", "messages": {"patch": ["done", "rating"], "delete": true}, "columns": [
            {"name": "id", "type": "integer"}, {"name": "title", "type": "text"}, {"name": "done", "type": "boolean"},
            {"name": "rating", "type": "real", "optional": true}, {"name": "updated", "type": "text"}]}]}
        """

    @Test func columnsTravelByThemselves() throws {
        let scene = try Scene()
        try scene.scratch.write(Self.patches, to: "todo.json")
        try scene.database("desk.db").run(
            """
            CREATE TABLE todo(id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL, rating REAL, updated TEXT NOT NULL);
            INSERT INTO todo VALUES(1, 'one', 0, 2, '2026-01-01T00:00:00Z'), (2, 'two', 0, NULL, '2026-01-01T00:00:00Z'),
                (3, 'three', 0, 2.5, '2026-01-01T00:00:00Z'), (4, 'four', 1, 1, '2026-01-01T00:00:00Z');
            """)
        try scene.succeed("init desk.db cloud --name desk --datasets todo.json")
        try scene.sync("desk")
        for reader in ["phone", "tablet"] {
            try scene.succeed("join \(reader).db cloud --name \(reader)")
            try scene.succeed("sync \(reader).db")
        }
        let now = "strftime('%Y-%m-%dT%H:%M:%fZ')"
        try scene.database("phone.db").run(
            """
            UPDATE todo SET done = 1, updated = \(now) WHERE id = 1;
            UPDATE todo SET rating = 4.25 WHERE id = 2;
            UPDATE todo SET title = 'mine', done = 1 WHERE id = 3;
            INSERT INTO todo VALUES(9, 'only here', 0, NULL, \(now));
            DELETE FROM todo WHERE id = 4;
            """)
        try scene.database("tablet.db").run("UPDATE todo SET rating = NULL WHERE id = 1")
        #expect(try scene.succeed("sync phone.db").contains("sent 4 edits to the publisher\n"))
        try Python.run(
            """
            import glob, json, sys
            (path,) = glob.glob(sys.argv[1] + '/*.json')
            edits = {edit['id']: edit for edit in json.load(open(path))['message']['body']['edits']}
            assert sorted(edits) == [1, 2, 3, 4] and 'row' not in edits[4], edits
            assert {column['name'] for column in edits[1]['columns']} == {'done', 'updated'} and json.loads(edits[1]['row'])['done'] == 1, edits
            assert [column['name'] for column in edits[2]['columns']] == ['rating'] and json.loads(edits[2]['row'])['rating'] == 4.25, edits
            assert [column['name'] for column in edits[3]['columns']] == ['done'], edits
            """, [scene.scratch.path("\(Scene.mainZone)/messages/phone")])
        try scene.sync("tablet")
        // Edits of the text do not undo a patch, nor a patch them.
        try scene.database("desk.db").run("UPDATE todo SET title = title || ' of the desk', updated = \(now)")
        try scene.sync("desk")
        let rows = "SELECT id, title, done, rating FROM todo ORDER BY id"
        let wanted = "1|one of the desk|1|\n2|two of the desk|0|4.25\n3|three of the desk|1|2.5\n"
        #expect(try scene.database("desk.db").run(rows).hasPrefix(wanted))
        try scene.sync("phone", "tablet")
        #expect(try scene.database("tablet.db").run(rows) == scene.database("desk.db").run(rows))
        #expect(try scene.database("phone.db").run("SELECT title FROM todo WHERE id = 9") == "only here\n")
        #expect(try scene.succeed("pending phone.db").contains("stays here: insert tasks 9: readers may not add rows"))
        for device in ["desk", "phone", "tablet"] { try scene.succeed("check \(device).db --local") }
    }

    @Test func anEditThatSomebodyElseHasOvertakenIsRefusedAndKept() throws {
        let scene = try Scene()
        try scene.scratch.write(Self.patches, to: "todo.json")
        try scene.database("desk.db").run(
            "CREATE TABLE todo(id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER NOT NULL, rating REAL, updated TEXT NOT NULL); INSERT INTO todo VALUES(1, 'one', 0, 2, '2026-01-01T00:00:00Z')"
        )
        try scene.succeed("init desk.db cloud --name desk --datasets todo.json")
        try scene.sync("desk")
        try scene.succeed("join phone.db cloud --name phone")
        try scene.sync("phone")
        try scene.database("phone.db").run("UPDATE todo SET rating = 3")
        try scene.sync("phone")
        try scene.database("desk.db").run("UPDATE todo SET rating = 5, updated = strftime('%Y-%m-%dT%H:%M:%fZ')")
        #expect(try scene.succeed("sync desk.db").contains("edits of readers: 0 applied, 1 refused"))
        #expect(try scene.json("conflicts desk.db")["conflicts"].map { "\($0)" }?.contains("rating") == true)
        try scene.sync("phone")
        #expect(try scene.database("phone.db").run("SELECT rating FROM todo") == "5.0\n")
        try scene.succeed("check phone.db --local")
    }
}
