import Foundation
import TestSupport
import Testing

/// A column that is added to a synced table keeps its values, and no edit is lost on the way.
@Suite(.runsPrograms, .timeLimit(.minutes(60))) struct SchemaChangeTests {
    private static func datasets(_ columns: String) -> String {
        #"{"formatVersion":1,"datasets":[{"name":"task","key":"id","timestamp":"changed","columns":[{"name":"id","type":"text"},{"name":"title","type":"text"},{"name":"changed","type":"text","optional":true}\#(columns)]}]}"#
    }

    private static let rows = "SELECT id || ' ' || title || ' ' || coalesce(due, '-') || ' ' || coalesce(rank, '-') FROM task ORDER BY id"

    /// A writer or peer `a.db` and another device `b.db` that have version 1.
    private func scene(_ roles: (String, String)) throws -> Scene {
        try Scene.copy(of: "tasks \(roles)") { scene in
            try scene.scratch.write(Self.datasets(""), to: "old.json")
            try scene.scratch.write(
                Self.datasets(#",{"name":"due","type":"text","optional":true},{"name":"rank","type":"integer","optional":true}"#), to: "new.json")
            for (name, role) in [("a", roles.0), ("b", roles.1)] {
                try scene.database("\(name).db").run("CREATE TABLE task(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, changed TEXT)")
                if name == "a" {
                    try scene.database("a.db").run("INSERT INTO task VALUES('t1', 'one', '2026-01-01T00:00:00Z'), ('t2', 'two', NULL), ('t3', 'three', NULL)")
                }
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets old.json"))
                try scene.succeed("sync \(name).db")
            }
        }
    }

    private func addColumns(_ scene: Scene, _ name: String, _ sql: String) throws {
        try scene.database("\(name).db").run("ALTER TABLE task ADD COLUMN due TEXT; ALTER TABLE task ADD COLUMN rank INTEGER; \(sql)")
    }

    private func attach(_ scene: Scene, _ name: String, _ role: String) throws -> [String: Any] {
        try scene.json(Scene.setUp("\(name).db", as: role, "--name \(name) --take-over --datasets new.json"))
    }

    private func lines(_ scene: Scene, _ name: String) throws -> [String] {
        try scene.database("\(name).db").run(Self.rows).split(separator: "\n").map(String.init)
    }

    @Test func aWritersNewColumnsAndItsEditsReachTheReader() throws {
        let scene = try scene(("writer", "reader"))
        try addColumns(
            scene, "a",
            "UPDATE task SET due = 'friday', rank = 7 WHERE id = 't1'; UPDATE task SET title = 'not yet synced' WHERE id = 't2'; DELETE FROM task WHERE id = 't3'"
        )
        #expect(try scene.json("detach a.db")["keptChanges"] as? Int == 2)
        #expect(try scene.database("a.db").run("SELECT name FROM sqlite_schema WHERE name LIKE 'snapsync%' AND type = 'table'") == "snapsync_detached\n")
        #expect(try attach(scene, "a", "writer")["changesTaken"] as? Int == 2)
        let early = try scene.run("sync a.db")
        #expect(early.status == 78)
        try scene.succeed("import a.db")
        let expected = ["t1 one friday 7", "t2 not yet synced - -"]
        #expect(try lines(scene, "a") == expected)
        #expect(!scene.scratch.exists("a.db.snapsync-kept"))
        #expect(try scene.database("a.db").run("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_detached'") == "0\n")
        try scene.sync("a")
        try scene.succeed("import a.db")
        #expect(try lines(scene, "a") == expected)
        try scene.succeed("check a.db --local")

        // The reader knows the old columns, imports those, and then takes the new ones over.
        #expect(try scene.succeed("sync b.db").contains("does not know the fields due, rank"))
        #expect(try scene.database("b.db").run("SELECT id, title FROM task ORDER BY id") == "t1|one\nt2|not yet synced\n")
        try addColumns(scene, "b", "")
        try scene.succeed("detach b.db")
        try scene.succeed("join b.db cloud --name b --take-over --keep-local --datasets new.json")
        try scene.sync("b")
        #expect(try lines(scene, "b") == expected)
        try scene.succeed("check b.db --local")
    }

    @Test func aReaderThatIsFirstKeepsItsValues() throws {
        let scene = try scene(("writer", "reader"))
        try addColumns(scene, "b", "UPDATE task SET due = 'mine' WHERE id = 't2'")
        try scene.succeed("detach b.db")
        try scene.succeed("join b.db cloud --name b --take-over --keep-local --datasets new.json")
        try scene.sync("b")
        for title in ["edited", "edited again"] {
            try scene.database("a.db").run("UPDATE task SET title = '\(title)' WHERE id IN ('t1', 't2')")
            try scene.sync("a", "b")
            #expect(try lines(scene, "b") == ["t1 \(title) - -", "t2 \(title) mine -", "t3 three - -"])
        }
        try scene.succeed("check b.db --local")
        #expect(try scene.json("status b.db")["conflicts"] as? Int == 0)

        // The writer describes the column and says otherwise: the reader's value gives way, is kept and told.
        try addColumns(scene, "a", "UPDATE task SET due = 'theirs' WHERE id = 't2'")
        try scene.succeed("detach a.db")
        _ = try attach(scene, "a", "writer")
        for line in ["import a.db", "sync a.db", "sync b.db"] { try scene.succeed(line) }
        #expect(try lines(scene, "b") == lines(scene, "a"))
        let entries = try #require(try scene.json("conflicts b.db")["conflicts"] as? [[String: Any]])
        #expect(entries.map { $0["key"] as? String } == ["t2"])
        #expect(((entries.first?["lost"] as? [String: Any])?["entity"] as? String)?.contains(#""due":"mine""#) == true)
    }

    @Test func peersTakeTheColumnsOverInTurnAndLoseNothing() throws {
        let scene = try scene(("peer", "peer"))
        try addColumns(scene, "a", "UPDATE task SET due = 'by a' WHERE id IN ('t1', 't2')")
        try scene.database("b.db").run("UPDATE task SET title = 'by b' WHERE id IN ('t1', 't3')")
        try scene.succeed("detach a.db")
        _ = try attach(scene, "a", "peer")
        try scene.sync("a")
        // b knows too little to publish; its edits wait.
        let refused = try scene.run("sync b.db")
        #expect(refused.status == 78)
        for text in ["publishing would lose them", "what other devices had published was imported before"] { #expect(refused.errorText.contains(text)) }
        // They edited other columns.
        #expect((try scene.json("conflicts b.db")["conflicts"] as? [Any])?.isEmpty == true)
        try addColumns(scene, "b", "UPDATE task SET rank = 3 WHERE id = 't3'")
        #expect(try scene.json("detach b.db")["keptChanges"] as? Int == 2)
        #expect(try attach(scene, "b", "peer")["changesTaken"] as? Int == 2)
        try scene.sync("b", "a", "b", "a")
        #expect(try lines(scene, "a") == lines(scene, "b"))
        #expect(try lines(scene, "a") == ["t1 by b by a -", "t2 two by a -", "t3 by b - 3"])
        for name in ["a", "b"] { try scene.succeed("check \(name).db --local") }
    }

    @Test func editsThatWaitBelongToTheirZoneAndMayBeDropped() throws {
        let scene = try scene(("writer", "reader"))
        try scene.database("a.db").run("UPDATE task SET title = 'unsynced' WHERE id = 't1'")
        #expect(try scene.succeed("detach a.db").contains("1 edit that no version has waits for the next init of this database with the location"))
        let other = try scene.json("init a.db cloud --name a --zone Other --datasets old.json")
        #expect(other["changesTaken"] as? Int == 0)
        try scene.succeed("detach a.db")
        let replacing = try scene.json("join a.db cloud --writer --name a --take-over --replace-local --datasets old.json")
        #expect(replacing["changesTaken"] as? Int == 0)
        #expect(try scene.database("a.db").run("SELECT count(*) FROM sqlite_schema WHERE name = 'snapsync_detached'") == "0\n")
    }
}
