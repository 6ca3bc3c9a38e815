import Foundation
import TestSupport
import Testing

/// When a change counts as made: by the built command, with databases that plain connections write.
@Suite(.runsPrograms) struct InstantTests {
    /// A timestamp column as an application may have it.
    enum Timestamp: String, CaseIterable, Sendable {
        case date = "TEXT", digits = "TEXT ", any = "", none = "TEXT  "

        /// What the application writes, and goes on writing; no instant for `digits`.
        var old: String { self == .digits ? "1700000000" : "2026-01-01T00:00:00Z" }
    }

    /// Databases with a table `n` of the dataset `n`, the first of them set up and published.
    private func scene(_ timestamp: Timestamp, roles: [(String, String)], rows: String = "") throws -> Scene {
        try Scene.copy(of: "instants \(timestamp) \(roles) \(rows)") { scene in
            let member = timestamp == .none ? "" : "\"timestamp\":\"ts\","
            try scene.scratch.write(
                "{\"formatVersion\":1,\"datasets\":[{\"name\":\"n\",\"key\":\"id\",\(member)\"columns\":[{\"name\":\"id\",\"type\":\"text\"},{\"name\":\"v\",\"type\":\"text\"},{\"name\":\"ts\",\"type\":\"text\"}]}]}",
                to: "ds.json")
            for (number, (name, role)) in roles.enumerated() {
                let database = scene.database("\(name).db")
                try database.run("CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v TEXT NOT NULL, ts \(timestamp.rawValue) NOT NULL)")
                if number == 0, !rows.isEmpty { try database.run(rows) }
                try scene.succeed(Scene.setUp("\(name).db", as: role, "--name \(name) --datasets ds.json"))
                try scene.sync(name)
            }
        }
    }

    private func rows(_ scene: Scene, _ name: String) throws -> String { try scene.database("\(name).db").run("SELECT id, v, ts FROM n ORDER BY id") }

    /// Nothing more is written by anybody.
    private func expectIdle(_ scene: Scene, _ names: String..., at location: SourceLocation = #_sourceLocation) throws {
        let before = try scene.cloudListing()
        for name in names {
            let said = try scene.sync(name, at: location)
            #expect(said.contains("nothing new") || said.contains("is here already"), "\(said)", sourceLocation: location)
        }
        #expect(try scene.cloudListing() == before, sourceLocation: location)
        for name in names {
            #expect(try scene.database("\(name).db").run("SELECT count(*) FROM snapsync_changes") == "0\n", "\(name)", sourceLocation: location)
            try scene.succeed("check \(name).db --local", at: location)
        }
    }

    /// The instants that a version's newest snapshot asset of `n` gives, besides the entities' own.
    private func tail(_ scene: Scene) throws -> String {
        let text = String(decoding: try Gzip.decompress(scene.scratch.path(scene.asset("n"))), as: UTF8.self)
        return text.split(separator: "\n").last.map(String.init) ?? ""
    }

    /// Lets the clock, which triggers read in milliseconds, go on.
    private func pause() { usleep(20_000) }

    // MARK: Putting back

    @Test(arguments: Timestamp.allCases) func aWriterThatPutsAValueBackWinsOverAReadersEarlierChange(timestamp: Timestamp) throws {
        for syncsBefore in [false, true] {
            let old = timestamp.old
            let scene = try scene(timestamp, roles: [("w", "writer"), ("r", "reader")])
            try scene.database("w.db").run("INSERT INTO n VALUES('a', 'first', '\(old)')")
            try scene.sync("w", "r")
            try scene.database("w.db").run("UPDATE n SET v = 'passing'")
            pause()
            try scene.database("r.db").run("UPDATE n SET v = 'of the reader'")
            pause()
            try scene.database("w.db").run("UPDATE n SET v = 'first', ts = '\(old)'")
            if syncsBefore { try scene.sync("w") }
            try scene.sync("r", "w", "r")
            #expect(try rows(scene, "w") == "a|first|\(old)\n")
            #expect(try rows(scene, "r") == rows(scene, "w"))
            try expectIdle(scene, "w", "r")
        }
    }

    @Test(arguments: [false, true]) func aWriterThatPutsABucketBackRefusesTheEarlierMessageForGood(syncsBefore: Bool) throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 2)
        let bucket = "WHERE id = (SELECT min(id) FROM buckets)"
        let name = try scene.database("phone.db").run("SELECT quote(name) FROM buckets \(bucket)")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'passing' \(bucket)")
        pause()
        try scene.database("watch.db").run("UPDATE buckets SET name = 'of the reader' \(bucket)")
        pause()
        try scene.database("phone.db").run("UPDATE buckets SET name = \(name.trimmingCharacters(in: .newlines)) \(bucket)")
        if syncsBefore { try scene.sync("phone") }
        try scene.sync("watch", "phone", "watch")
        for database in ["phone.db", "watch.db"] { #expect(try scene.database(database).run("SELECT quote(name) FROM buckets \(bucket)") == name) }
        try expectIdle(scene, "phone", "watch")
    }

    @Test func aReaderThatPutsABucketOrAMarkBackWinsOverTheWritersEarlierChange() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 2)
        let bucket = "WHERE id = (SELECT min(id) FROM buckets)", one = "WHERE id = (SELECT min(id) FROM notifications)"
        try scene.database("phone.db").run("UPDATE buckets SET name = 'first' \(bucket); UPDATE notifications SET readAt = NULL \(one)")
        try scene.sync("phone", "watch")
        try scene.database("watch.db").run("UPDATE buckets SET name = 'passing' \(bucket)")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' \(one)")
        pause()
        try scene.database("phone.db").run(
            "UPDATE buckets SET name = 'of the writer' \(bucket); UPDATE notifications SET readAt = '2026-11-20T11:00:00Z' \(one)")
        pause()
        try scene.database("watch.db").run("UPDATE buckets SET name = 'first' \(bucket)")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = NULL \(one)")
        #expect(try scene.succeed("sync watch.db").contains("sent 2 edits"))
        try scene.sync("phone", "watch")
        for database in ["phone.db", "watch.db"] {
            #expect(try scene.database(database).run("SELECT name FROM buckets \(bucket); SELECT readAt IS NULL FROM notifications \(one)") == "first\n1\n")
        }
        try expectIdle(scene, "phone", "watch")
    }

    @Test func aStatementThatChangesNothingIsNotPublished() throws {
        let scene = try scene(.date, roles: [("w", "writer"), ("r", "reader")])
        try scene.database("w.db").run("INSERT INTO n VALUES('a', 'x', '2026-01-01T00:00:00Z')")
        try scene.sync("w", "r")
        try scene.database("w.db").run("UPDATE n SET v = v; REPLACE INTO n SELECT * FROM n")
        try expectIdle(scene, "w", "r")
    }

    // MARK: REPLACE

    @Test(arguments: [
        "INSERT OR REPLACE INTO n VALUES('a', 'later', '2026-01-01T00:00:00Z')",
        "INSERT INTO n VALUES('a', 'later', '2026-01-01T00:00:00Z') ON CONFLICT(id) DO UPDATE SET v = excluded.v, ts = excluded.ts",
        "UPDATE n SET v = 'later', ts = '2026-01-01T00:00:00Z'",
        "INSERT OR IGNORE INTO n VALUES('a', 'ignored', '2020-01-01T00:00:00Z'); UPDATE n SET v = 'later'",
    ])
    func aStatementThatRepeatsTheTimestampIsMadeNow(sql: String) throws {
        for timestamp in sql.contains("OR REPLACE") ? [Timestamp.date, .any, .none] : [.date] {
            let scene = try scene(timestamp, roles: [("a", "peer"), ("b", "peer")], rows: "INSERT INTO n VALUES('a', 'x', '2026-01-01T00:00:00Z')")
            try scene.database("a.db").run("UPDATE n SET v = 'earlier'")
            pause()
            try scene.database("b.db").run(sql)
            try scene.sync("a", "b", "a")
            #expect(try rows(scene, "a") == "a|later|2026-01-01T00:00:00Z\n")
            #expect(try rows(scene, "b") == rows(scene, "a"))
            try expectIdle(scene, "a", "b")
        }
    }

    @Test func aTimestampThatReplaceChangesIsTheInstant() throws {
        let scene = try scene(.date, roles: [("a", "peer"), ("b", "peer")], rows: "INSERT INTO n VALUES('a', 'x', '2026-01-01T00:00:00Z')")
        try scene.database("a.db").run("UPDATE n SET v = 'with a later time', ts = '2026-01-03T00:00:00Z'")
        pause()
        try scene.database("b.db").run("INSERT OR REPLACE INTO n VALUES('a', 'with an earlier time', '2026-01-02T00:00:00Z')")
        try scene.sync("a", "b", "a")
        #expect(try rows(scene, "b") == "a|with a later time|2026-01-03T00:00:00Z\n")
        #expect(try rows(scene, "b") == rows(scene, "a"))
    }

    // MARK: Instants from the future

    /// Of two edits the later one wins.
    private func expectTheLaterEditWins(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        try scene.database("a.db").run("UPDATE n SET v = 'earlier'")
        pause()
        try scene.database("b.db").run("UPDATE n SET v = 'later'")
        try scene.sync("a", "b", "a")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT v FROM n") == "later\n", sourceLocation: location) }
        try expectIdle(scene, "a", "b", at: location)
    }

    private static let future = "('k1', 'x', '9999-12-31T00:00:00Z')"

    @Test(arguments: ["peer", "writer"]) func rowsFromBeforeInitAreNotFromTheFuture(role: String) throws {
        let scene = try scene(.date, roles: [("a", role)], rows: "INSERT INTO n VALUES \(Self.future)")
        let tail = try tail(scene)
        #expect(tail.contains("\"instants\":[{\"id\":\"k1\"") && !tail.contains("9999"))
        try expectIdle(scene, "a")
    }

    /// Two edits of rows from before `init` are decided by their time, too.
    @Test(arguments: ["before init", "a joining peer", "a changed key", "a file"]) func noRowIsFromTheFuture(source: String) throws {
        let hasRows = source == "before init", insert = "INSERT INTO n VALUES \(Self.future)"
        let scene = try scene(.date, roles: source == "a joining peer" ? [("a", "peer")] : [("a", "peer"), ("b", "peer")], rows: hasRows ? insert : "")
        switch source {
        case "a joining peer":
            try scene.database("b.db").run("CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v TEXT NOT NULL, ts TEXT NOT NULL); \(insert)")
            try scene.succeed("init b.db cloud --peers --name b --datasets ds.json")
            try scene.sync("b", "a")
        case "a changed key":
            try scene.database("a.db").run(insert)
            try scene.sync("a", "b")
            try scene.database("a.db").run("UPDATE n SET id = 'x' || id")
            try scene.sync("a", "b")
        case "a file":
            let entities = "{\"id\":\"k1\",\"v\":\"x\",\"ts\":\"9999-12-31T00:00:00Z\"}"
            try scene.scratch.write("{\"syncTimestamp\":\"2026-11-21T00:00:00Z\",\"n\":[\(entities)]}", to: "elsewhere.json")
            try scene.succeed("import a.db --file elsewhere.json --accept-older")
            try scene.sync("a", "b")
        default: break
        }
        #expect(try !tail(scene).contains("9999"))
        try expectTheLaterEditWins(scene)
    }

    // MARK: A clock that ran ahead

    /// As if the device's clock had run ahead by days when its last statements ran.
    private func runAhead(_ scene: Scene, _ name: String, days: Int) throws {
        try scene.database("\(name).db").run("UPDATE snapsync_log SET clock = clock + \(days) * 86400000 WHERE dataset > 0")
    }

    @Test(arguments: [0, 3]) func aReaderWhoseClockRanAheadSendsWhenItIsRight(edits: Int) throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 2)
        let bucket = "WHERE id = (SELECT min(id) FROM buckets)"
        try scene.database("watch.db").run("UPDATE buckets SET name = 'ahead' \(bucket)")
        try runAhead(scene, "watch", days: 3)
        for number in 0..<edits { try scene.database("watch.db").run("UPDATE buckets SET name = 'again \(number)' \(bucket)") }
        try scene.sync("watch")
        #expect(try scene.succeed("sync phone.db").contains("edits of readers: 1 applied"))
        pause()
        // What the writer does afterwards is later.
        let name = try scene.database("phone.db").run("SELECT name FROM buckets \(bucket)")
        #expect(name == (edits == 0 ? "ahead\n" : "again \(edits - 1)\n"))
        try scene.database("phone.db").run("UPDATE buckets SET name = 'later' \(bucket)")
        try scene.sync("phone", "watch")
        #expect(try scene.database("watch.db").run("SELECT name FROM buckets \(bucket)") == "later\n")
        try expectIdle(scene, "phone", "watch")
    }

    @Test(arguments: Timestamp.allCases) func aPublisherWhoseClockRanAheadPublishesWithTheRightOne(timestamp: Timestamp) throws {
        let scene = try scene(
            timestamp, roles: [("a", "peer"), ("b", "peer")], rows: "INSERT INTO n VALUES('k1', 'x', '\(timestamp.old)'), ('k2', 'x', '\(timestamp.old)')")
        try scene.database("a.db").run("UPDATE n SET v = 'ahead' WHERE id = 'k1'; DELETE FROM n WHERE id = 'k2'")
        try runAhead(scene, "a", days: 3)
        try scene.sync("a")
        pause()
        try scene.database("b.db").run("UPDATE n SET v = 'later'")
        try scene.sync("b", "a")
        for name in ["a", "b"] { #expect(try scene.database("\(name).db").run("SELECT id, v FROM n ORDER BY id") == "k1|later\nk2|later\n") }
        try expectIdle(scene, "a", "b")
    }

    // MARK: Nothing left

    @Test(arguments: ["reader", "peer"]) func anEntityThatIsAddedAndDeletedLeavesNothingCounted(role: String) throws {
        for timestamp in [Timestamp.date, .none] {
            let scene = try scene(
                timestamp, roles: [("w", role == "peer" ? "peer" : "writer"), ("r", role)], rows: "INSERT INTO n VALUES('a', 'x', '\(timestamp.old)')")
            try scene.database("r.db").run(
                "INSERT INTO n VALUES('b', 'x', '\(timestamp.old)'); UPDATE n SET v = 'y' WHERE id = 'b'; DELETE FROM n WHERE id = 'b'")
            #expect(try scene.succeed("status r.db").contains(" 1 changed since"))
            try scene.sync("r")
            #expect(try scene.succeed("status r.db").contains(" 0 changed since"))
            try scene.sync("w")
            try expectIdle(scene, "r", "w")
        }
    }

    @Test func aBucketThatIsAddedAndDeletedAtAReaderIsNotTold() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 2)
        try scene.database("watch.db").run(
            "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('zz', 'n', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z'); DELETE FROM buckets WHERE id = 'zz'"
        )
        #expect(try !scene.sync("watch").contains("sent"))
        let status = try scene.succeed("status watch.db")
        #expect(status.contains("buckets: 2 entities") && !status.contains(" 1 changed since"))
        try expectIdle(scene, "phone", "watch")
    }
}
