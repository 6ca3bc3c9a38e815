import Foundation
import TestSupport
import Testing

/// Names that would be SQL, or that a terminal would obey.
@Suite(.runsPrograms) struct HostileNameTests {
    /// Names of tables and of columns, as they are.
    private static let names = [
        "\"; DROP TABLE victim; --", "'); DELETE FROM victim; --", "[x]", "`y`", "select", "order by 1", "a\"\"b", "ünï \u{1F6F0}\u{FE0F}", "%s %n", "?1", ":a",
        "a.b", "--", "/*", "rowid ", "\\",
    ]

    @Test func namesOfTablesAndColumnsAreNeverSQL() throws {
        let scene = try Scene()
        for name in ["here.db", "there.db"] {
            let schema = Self.names.enumerated().map { number, name in
                // Every other table has a key that SQLite makes an index for.
                "CREATE TABLE \(quoted(name + "t"))(\(quoted(name)) \(number % 2 == 0 ? "TEXT PRIMARY KEY NOT NULL" : "INTEGER PRIMARY KEY"), \(quoted(name + " value")) TEXT UNIQUE, \(quoted(name + " at")) TEXT NOT NULL);"
            }
            try scene.database(name).run("CREATE TABLE victim(a); INSERT INTO victim VALUES('alive');" + schema.joined())
        }
        let datasets = Self.names.enumerated().map { number, name -> [String: Any] in
            [
                "name": "d\(number)", "table": name + "t", "key": name, "timestamp": name + " at",
                "columns": [
                    ["name": name, "type": number % 2 == 0 ? "text" : "integer"], ["name": name + " value", "type": "text", "optional": true],
                    ["name": "at \"quoted\" \\", "column": name + " at", "type": "text"],
                ] as [[String: Any]],
            ]
        }.map { dataset in
            var dataset = dataset
            dataset["timestamp"] = "at \"quoted\" \\"
            return dataset
        }
        try scene.scratch.write(JSONSerialization.data(withJSONObject: ["formatVersion": 1, "datasets": datasets]), to: "names.json")
        try scene.succeed("init here.db cloud --name here --datasets names.json")
        try scene.succeed("join there.db cloud --name there --datasets names.json")
        func fill(_ key: String, _ value: String) throws {
            let rows = Self.names.enumerated().map { number, name in
                "INSERT OR REPLACE INTO \(quoted(name + "t")) VALUES(\(number % 2 == 0 ? "'\(key)'" : key), '\(value)', '2026-01-01T00:00:00Z');"
            }
            try scene.database("here.db").run(rows.joined())
        }
        func rows(_ database: String) throws -> String {
            try Self.names.map { try scene.database(database).run("SELECT * FROM \(quoted($0 + "t")) ORDER BY 1") }.joined(separator: ";")
        }
        try fill("1", "one")
        try scene.sync("here", "there")
        // An edit, a row that replaces another by its UNIQUE value, and a deletion travel, too.
        try fill("2", "two")
        try fill("1", "first")
        try fill("3", "two")
        try scene.sync("here", "there")
        #expect(try rows("there.db") == rows("here.db"))
        #expect(try rows("there.db").contains("3|two|2026-01-01T00:00:00Z"))
        for name in ["here.db", "there.db"] {
            #expect(try scene.database(name).run("SELECT a FROM victim") == "alive\n")
            try scene.succeed("check \(name) --local")
            try scene.succeed("detach \(name)")
            #expect(try scene.database(name).run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
        }
    }

    @Test func namesThatNoTextHoldsAreRefused() throws {
        let scene = try Scene()
        try scene.database("here.db").run("CREATE TABLE a(id TEXT PRIMARY KEY NOT NULL)")
        for name in ["a\\u0000b", "\\u001b[2J", "a\\nb", "", String(repeating: "n", count: 129)] {
            for dataset in [
                #"{"name":"a","table":"\#(name)","key":"id","columns":[{"name":"id","type":"text"}]}"#,
                #"{"name":"a","key":"id","columns":[{"name":"id","column":"\#(name)","type":"text"}]}"#,
            ] {
                try scene.scratch.write(#"{"formatVersion":1,"datasets":[\#(dataset)]}"#, to: "names.json")
                try scene.refuse(
                    "init here.db cloud --datasets names.json", exit: 78,
                    saying: ["names.json", "a table or column name is empty, longer than 128 bytes or holds control characters"], watching: ["here.db"])
            }
        }
    }

    /// Titles, projects, comments, names of files and messages that hold what terminals obey, shown by every command that shows any.
    @Test func noCommandLetsATerminalObey() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        let evil = "\u{1B}]0;owned\u{07}\u{9B}2J\u{202E}x\u{2028}"
        for folder in ["commits", "messages/watch", "devices/watch", "assets/buckets_data", "."] {
            try scene.scratch.write("{}", to: "\(Scene.zone)/\(folder)/\(evil).json")
        }
        try scene.scratch.write("{}", to: "\(Scene.zone)/messages/watch/" + String(repeating: "0", count: 32) + ".json")
        try scene.database("phone.db").run("UPDATE buckets SET name = '\(evil)', updatedAt = '2099-01-01T00:00:00Z', description = '\(evil)'")
        try scene.database("watch.db").run("UPDATE buckets SET name = '\(evil)' || 'w'")
        try scene.database("phone.db").run(
            "INSERT INTO notifications SELECT '\(evil)', title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, '[\"\(evil.filter { $0 != "\u{1B}" && $0 != "\u{07}" })\"]', actions, tapAction FROM notifications LIMIT 1"
        )
        func check(_ arguments: [String], at location: SourceLocation = #_sourceLocation) throws {
            for extra in [[], ["--json"]] where !(arguments[0] == "show" || arguments[0] == "service") || extra.isEmpty {
                let run = try BuiltCommand.run(arguments + extra, in: scene.scratch.path)
                let text = run.text + run.errorText
                let isClean = !text.unicodeScalars.contains {
                    $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.generalCategory == .format || $0 == "\u{2028}")
                }
                #expect(isClean, "\(arguments): \(text.debugDescription.prefix(3000))", sourceLocation: location)
                #expect(run.status >= 0, "\(arguments)", sourceLocation: location)
            }
        }
        for line in [
            "sync phone.db -n", "sync phone.db", "sync watch.db", "status phone.db", "log phone.db", "diff phone.db 1 2",
            "pending phone.db", "check phone.db", "check cloud", "check phone.db --all-versions",
            "prune phone.db --keep-last 1 -n",
        ] {
            try check(line.split(separator: " ").map(String.init))
        }
        let project: [String: Any] = ["id": "p", "title": evil, "detail": evil, "items": [["id": "1", "title": evil, "detail": evil]]]
        try scene.scratch.write(JSONSerialization.data(withJSONObject: project), to: "project.json")
        try check(["share", "publish", "phone.db", "--owner", evil, "--file", "project.json"])
        try check(["share", "list", "phone.db"])
        try check(["share", "show", "phone.db", "--project", "p"])
        try check(["share", "comment", "phone.db", "--project", "p", "--name", evil, "--text", evil])
        try check(["share", "comments", "phone.db", "--project", "p"])
        try check(["share", "status", "phone.db", "--project", evil])
        try check(["status", "\(evil).db"])
        try check(["service", "cron", "phone.db", "--every", "15m"])
        try check(["show", "phone.db", evil])
    }

    @Test func rowsShownOnATerminalAreNotObeyedAndInAPipeAreThemselves() throws {
        let scene = try Scene.phone(notifications: 1, buckets: 1)
        try scene.database("phone.db").run("UPDATE buckets SET name = 'a' || char(155) || '2J' || char(8238) || 'b', updatedAt = '2099-01-01T00:00:00Z'")
        try scene.sync("phone")
        let piped = try scene.succeed("show phone.db buckets")
        #expect(piped.contains("a\u{9B}2J\u{202E}b"))
        let seen = try Python.run(
            "import os, pty, sys\nout = b''\npid, fd = pty.fork()\nif pid == 0: os.execv(sys.argv[1], sys.argv[1:])\nwhile True:\n    try: data = os.read(fd, 65536)\n    except OSError: break\n    if not data: break\n    out += data\nos.waitpid(pid, 0)\nsys.stdout.buffer.write(out)",
            [BuiltCommand.path(), "show", scene.scratch.path("phone.db"), "buckets"])
        #expect(seen.contains("a\\u009b2J\\u202eb") && !seen.unicodeScalars.contains("\u{9B}"), "\(seen.debugDescription)")
    }

    private func quoted(_ name: String) -> String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }
}
