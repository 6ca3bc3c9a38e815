import Foundation
import TestSupport
import Testing

/// Timestamp columns that hold numbers: last write wins by them as by text.
@Suite(.runsPrograms) struct TimestampUnitTests {
    /// A unit, the column's type here and in the table, and SQL that gives a time as the column has it, from seconds since 1970.
    struct Form: Sendable, CustomTestStringConvertible {
        let unit: String, type: String, declared: String, value: String
        var testDescription: String { "\(unit) \(type)" }

        func sql(_ seconds: Int) -> String { value.replacing("?", with: "\(seconds)") }
    }

    private static let forms = [
        Form(unit: "seconds", type: "integer", declared: "INTEGER", value: "?"), Form(unit: "seconds", type: "real", declared: "REAL", value: "(? + 0.25)"),
        Form(unit: "seconds", type: "real", declared: "NUMERIC", value: "?"),
        Form(unit: "milliseconds", type: "integer", declared: "BIGINT", value: "(? * 1000)"),
        Form(unit: "microseconds", type: "integer", declared: "INTEGER", value: "(? * 1000000 + 1)"),
        Form(unit: "apple", type: "integer", declared: "INTEGER", value: "(? - 978307200)"),
        Form(unit: "apple", type: "real", declared: "TIMESTAMP", value: "(? - 978307200.5)"),
        Form(unit: "julian", type: "real", declared: "REAL", value: "(? / 86400.0 + 2440587.5)"),
    ]

    private func datasets(_ unit: String, _ type: String) -> String {
        """
        {"formatVersion": 1, "datasets": [{"name": "notes", "key": "id", "timestamp": "changed", "timestampUnit": "\(unit)", "columns": [
          {"name": "id", "type": "text"}, {"name": "body", "type": "text"}, {"name": "changed", "type": "\(type)", "optional": true}]}]}
        """
    }

    private func peers(_ form: Form) throws -> Scene {
        try Scene.copy(of: "timestamps \(form)") { scene in
            try scene.scratch.write(datasets(form.unit, form.type), to: "d.json")
            for name in ["a", "b"] {
                try scene.database("\(name).db").run("CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL, changed \(form.declared))")
            }
            try scene.database("a.db").run("INSERT INTO notes VALUES('n', 'first', \(form.sql(1_700_000_000))), ('old', 'o', \(form.sql(1_600_000_000)))")
            for name in ["a", "b"] {
                try scene.succeed("init \(name).db cloud --peers --name \(name) --datasets d.json")
                try scene.sync(name)
            }
        }
    }

    /// The edit with the later number wins, whichever device syncs first.
    @Test(arguments: forms.indices)
    func laterTimestampWins(number: Int) throws {
        let form = Self.forms[number], isLaterFirst = number.isMultiple(of: 2), scene = try peers(form)
        try scene.database("a.db").run("UPDATE notes SET body = 'later', changed = \(form.sql(1_700_000_200)) WHERE id = 'n'")
        try scene.database("b.db").run("UPDATE notes SET body = 'earlier', changed = \(form.sql(1_700_000_100)) WHERE id = 'n'")
        for name in isLaterFirst ? ["a", "b", "a"] : ["b", "a", "b"] { try scene.succeed("sync \(name).db") }
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT body, changed = \(form.sql(1_700_000_200)) FROM notes WHERE id = 'n'") == "later|1\n")
            try scene.succeed("check \(name).db --all-versions --local")
        }
        // What lost comes back as a new edit, with a new time in the column's own form.
        let taker = isLaterFirst ? "b" : "a"
        let conflicts = try #require(try scene.json("conflicts \(taker).db")["conflicts"] as? [[String: Any]])
        #expect(conflicts.count == 1)
        try scene.succeed("conflicts take \(taker).db \(try #require(conflicts.first?["id"] as? Int))")
        #expect(
            try scene.database("\(taker).db").run(
                "SELECT body, changed > \(form.sql(1_760_000_000)), changed < \(form.sql(4_000_000_000)) FROM notes WHERE id = 'n'") == "earlier|1|1\n")
        try scene.sync("a", "b", "a")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT body FROM notes WHERE id = 'n'") == "earlier\n") }
    }

    /// A number that is no instant, or lies in the future, is treated as such a text is.
    @Test(arguments: forms)
    func timestampThatIsNoInstantCountsAsTheClock(form: Form) throws {
        let scene = try peers(form)
        // Years beyond 9999, and a date in 2099: neither wins for ever.
        let beyond = form.type == "integer" ? "9223372036854775807" : "1e300"
        try scene.database("a.db").run(
            "UPDATE notes SET body = 'beyond', changed = \(beyond) WHERE id = 'n'; UPDATE notes SET changed = \(form.sql(4_070_908_800)) WHERE id = 'old'")
        try scene.sync("a", "b")
        try scene.database("b.db").run("UPDATE notes SET body = 'after', changed = \(form.sql(1_700_000_300))")
        try scene.sync("b", "a")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT DISTINCT body FROM notes") == "after\n") }
        try scene.database("a.db").run("UPDATE notes SET body = 'none', changed = NULL WHERE id = 'n'")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT body, changed IS NULL FROM notes WHERE id = 'n'") == "none|1\n")
        try scene.succeed("check b.db --all-versions --local")
    }

    /// Edits of two devices in one second of a column that counts seconds are equally late: what a version has stays, and the other one is kept.
    @Test func ofEqualSecondsThePublishedEditStays() throws {
        let scene = try peers(Self.forms[0])
        for name in ["a", "b"] { try scene.database("\(name).db").run("UPDATE notes SET body = 'by \(name)', changed = 1700000500 WHERE id = 'n'") }
        try scene.sync("a", "b", "a")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT body FROM notes WHERE id = 'n'") == "by a\n") }
        #expect(try scene.succeed("conflicts b.db").contains("by b"))
    }

    @Test func unknownUnitIsRefused() throws {
        let scene = try Scene()
        try scene.scratch.write(datasets("fortnights", "integer"), to: "d.json")
        try scene.database("a.db").run("CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL, changed)")
        let run = try scene.run("init a.db cloud --datasets d.json")
        Scene.checkRefusal(run, exit: 78, saying: ["\"fortnights\" is not known; known are seconds, milliseconds, microseconds, apple, julian"])
    }

    /// A device follows the zone's choice, whatever its dataset file says.
    @Test func deviceFollowsTheUnitOfTheZone() throws {
        let scene = try peers(Self.forms[0])
        try scene.scratch.write(datasets("milliseconds", "integer"), to: "other.json")
        try scene.database("c.db").run("CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, body TEXT NOT NULL, changed INTEGER)")
        try scene.succeed("init c.db cloud --peers --name c --datasets other.json")
        try scene.sync("c")
        // By milliseconds, this edit would be one of 1970.
        try scene.database("c.db").run("UPDATE notes SET body = 'later', changed = 1700000900 WHERE id = 'n'")
        try scene.database("a.db").run("UPDATE notes SET body = 'earlier', changed = 1700000800 WHERE id = 'n'")
        try scene.sync("a", "c", "a")
        #expect(try scene.database("a.db").run("SELECT body FROM notes WHERE id = 'n'") == "later\n")
        let index = String(decoding: try scene.scratch.read(try scene.asset("notes").replacing(".json.gz", with: ".index.json")), as: UTF8.self)
        #expect(index.hasPrefix("{\"formatVersion\":1,\"dataset\":\"notes\",\"key\":\"id\",\"timestamp\":\"changed\",\n"))
    }

    /// Another choice at one device reaches all, and a value that is no time stops nothing.
    @Test func timestampCanBeChosenAgain() throws {
        let scene = try Scene()
        try scene.database("a.db").run(
            "CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, v TEXT, last_modified INTEGER, at TEXT); INSERT INTO t VALUES('a', 'x', 1600000000, '2020-01-01T00:00:00Z')"
        )
        #expect(
            try scene.succeed("init a.db cloud --peers --name a").contains("timestamp of t: last_modified (seconds)"))
        try scene.sync("a")
        try scene.succeed("join b.db cloud --peer --name b")
        try scene.sync("b")
        #expect(try scene.succeed("tables adopt a.db --timestamp t=at").contains("t: the column at says when a row was last changed"))
        try scene.sync("a")
        #expect(try scene.succeed("sync b.db").contains("t: the column at says when a row was last changed, as the zone says"))
        try scene.database("a.db").run("UPDATE t SET v = 'earlier', at = '2021-02-01T00:00:00Z'")
        try scene.database("b.db").run("UPDATE t SET v = 'later', at = '2021-03-01T00:00:00Z'")
        try scene.sync("b", "a", "b")
        for name in ["a", "b"] {
            #expect(try scene.database("\(name).db").run("SELECT v FROM t") == "later\n")
            try scene.succeed("check \(name).db --all-versions --local")
        }
        try scene.database("a.db").run("UPDATE t SET at = '', v = 'odd'")
        try scene.sync("a", "b")
        #expect(try scene.database("b.db").run("SELECT v, quote(at) FROM t") == "odd|''\n")
        #expect(try scene.succeed("tables adopt b.db --timestamp t=none").contains("the device's clock counts"))
        try scene.sync("b", "a")
        try scene.refuse("tables adopt a.db --timestamp u=at", exit: 64, saying: ["the table u is not synced"], watching: [])
    }
}
