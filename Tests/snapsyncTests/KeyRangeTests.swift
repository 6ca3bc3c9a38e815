import Foundation
import TestSupport
import Testing

/// Tables in which SQLite gives new rows their keys, at several devices that insert.
@Suite(.runsPrograms) struct KeyRangeTests {
    private static let auto = "CREATE TABLE todo(id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)"
    private static let plain = "CREATE TABLE todo(id INTEGER PRIMARY KEY, text TEXT)"

    private func scene() throws -> Scene {
        let scene = try Scene()
        try scene.scratch.write(
            #"{"formatVersion":1,"datasets":[{"name":"todo","key":"id","columns":[{"name":"id","type":"integer"},{"name":"text","type":"text","optional":true}]}]}"#,
            to: "todo.json")
        return scene
    }

    private func join(_ scene: Scene, _ name: String, _ flags: String = "--key-range") throws -> [String: Any] {
        try scene.json("init \(name).db cloud --peers --name \(name) --datasets todo.json \(flags)")
    }

    private func texts(_ scene: Scene, _ name: String) throws -> String { try scene.database("\(name).db").query("SELECT text FROM todo ORDER BY text") }

    @Test(arguments: [
        (auto, ["todo (AUTOINCREMENT)", "--key-range", "--shared-keys"]),
        (plain, ["todo", "rebuild todo with INTEGER PRIMARY KEY AUTOINCREMENT", "--shared-keys"]),
    ])
    func peerThatWouldShareKeysIsRefused(table: String, says: [String]) throws {
        let scene = try scene()
        try scene.database("a.db").run(table)
        let before = try scene.database("a.db").dump()
        let run = try scene.run("init a.db cloud --peers --name a --datasets todo.json")
        Scene.checkRefusal(run, exit: 78, saying: ["two peers that insert at the same time give one key to two rows"] + says)
        #expect(try scene.database("a.db").dump() == before)
        #expect(!scene.scratch.exists("cloud"))
        // One device that publishes shares its keys with nobody.
        try scene.succeed("init a.db cloud --name a --datasets todo.json")
    }

    @Test func rangeNeedsAutoincrement() throws {
        let scene = try scene()
        try scene.database("a.db").run(Self.plain)
        let run = try scene.run("init a.db cloud --peers --name a --datasets todo.json --key-range")
        Scene.checkRefusal(run, exit: 78, saying: ["without AUTOINCREMENT SQLite takes the highest key plus one"])
        #expect(try scene.run("join a.db cloud --name a --datasets todo.json --key-range").status == 64)
        let report = try join(scene, "a", "--key-range --shared-keys")
        #expect(report["keyRange"] == nil)
        #expect((report["warnings"] as? [String])?.count == 1)
    }

    /// Devices that insert all the time, each between its syncs, never give one key to two rows.
    @Test func devicesInsertWithoutConflicts() throws {
        let scene = try scene()
        let names = ["a", "b", "c"]
        var expected: [String] = []
        for (number, name) in names.enumerated() {
            try scene.database("\(name).db").run(Self.auto)
            if name == "a" {
                try scene.database("a.db").run("INSERT INTO todo(text) VALUES('first')")
                expected.append("first")
            }
            #expect(try join(scene, name)["keyRange"] as? Int == number)
            if name == "a" { try scene.succeed("sync a.db") }
        }
        for round in 0..<4 {
            for name in names {
                // Rows before the first import, too; rows that are deleted again; and a key of the application's own.
                try scene.database("\(name).db").run(
                    "INSERT INTO todo(text) VALUES('\(name)\(round)x'), ('\(name)\(round)y'); DELETE FROM todo WHERE text = '\(name)\(round)x'")
                expected.append("\(name)\(round)y")
            }
            for name in round % 2 == 0 ? names : names.reversed() { try scene.succeed("sync \(name).db") }
        }
        for name in names + names { try scene.succeed("sync \(name).db") }
        for name in names {
            #expect(try texts(scene, name) == expected.sorted().joined(separator: "\n"))
            #expect(try scene.json("status \(name).db")["conflicts"] as? Int == 0)
            try scene.succeed("check \(name).db --all-versions --local")
        }
        // The creator's first keys are small, and every device's next key is its own.
        #expect(try scene.database("a.db").query("SELECT id FROM todo WHERE text = 'first'") == "1")
        var next: Set<String> = []
        for name in names {
            try scene.database("\(name).db").run("INSERT INTO todo(text) VALUES('next')")
            next.insert(try scene.database("\(name).db").query("SELECT max(id) >> 20 & 255 FROM todo"))
        }
        #expect(next == ["0", "128", "64"])
        // Nobody is told of a dataset that nobody described.
        #expect(!(try scene.succeed("sync a.db")).contains("snapshot_key_ranges"))
    }

    /// A device that joins before the first version is told to wait; one that is set up again keeps its range; a copy gets another one.
    @Test func rangesAreGivenOnce() throws {
        let scene = try scene()
        for name in ["a", "b"] { try scene.database("\(name).db").run(Self.auto) }
        _ = try join(scene, "a")
        let early = try scene.run("init b.db cloud --peers --name b --datasets todo.json --key-range")
        Scene.checkRefusal(early, exit: 66, saying: ["nothing has been published yet", "run snapsync sync DB on a first"])
        #expect(try scene.database("b.db").query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0")
        try scene.database("a.db").run("INSERT INTO todo(text) VALUES('one')")
        try scene.sync("a")
        #expect(try join(scene, "b")["keyRange"] as? Int == 1)
        try scene.sync("b")
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('two')")
        try scene.sync("b")

        try scene.succeed("detach b.db")
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('while detached')")
        #expect(try join(scene, "b", "--key-range --take-over --keep-local")["keyRange"] as? Int == 1)
        try scene.sync("b")

        // A copy of the database has the same range until it finds out that it is a copy.
        try scene.sync("b")
        try scene.scratch.copy(scene.scratch.path("b.db"), to: "copy.db")
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('original')")
        try scene.sync("b", "copy", "copy")
        try scene.database("copy.db").run("INSERT INTO todo(text) VALUES('copy')")
        try scene.database("b.db").run("INSERT INTO todo(text) VALUES('original too')")
        try scene.sync("copy", "b", "a", "copy")
        for name in ["a", "b", "copy"] {
            #expect(try texts(scene, name) == "copy\none\noriginal\noriginal too\ntwo\nwhile detached")
        }
        #expect(try scene.database("copy.db").query("SELECT id >> 20 & 255 FROM todo WHERE text = 'copy'") != "128")
    }

    /// Whatever was said at `init`, two rows under one key are told, and the one that loses is kept.
    @Test func applicationThatMakesOneKeyTwiceLosesNothing() throws {
        let scene = try scene()
        for name in ["a", "b"] {
            try scene.database("\(name).db").run(Self.auto)
            _ = try join(scene, name)
            try scene.succeed("sync \(name).db")
        }
        for name in ["a", "b"] { try scene.database("\(name).db").run("INSERT INTO todo VALUES(77, 'by \(name)')") }
        try scene.sync("a")
        #expect(try scene.succeed("sync b.db").contains("1 edit lost"))
        let conflicts = try #require(try scene.json("conflicts b.db")["conflicts"] as? [[String: Any]])
        #expect(conflicts.first?["reason"] as? String == "sameKey")
        try scene.succeed("conflicts take b.db 1")
        try scene.sync("b", "a")
        #expect(try texts(scene, "a") == "by a\nby b")
        // What comes back gets a key of the device's own range.
        #expect(try scene.database("b.db").query("SELECT count(*) FROM todo WHERE id >> 20 & 255 = 128") == "1")
    }
}

extension SQLiteShell {
    /// What a query prints, without the last line's end.
    fileprivate func query(_ sql: String) throws -> String { String(try run(sql).dropLast()) }
}
