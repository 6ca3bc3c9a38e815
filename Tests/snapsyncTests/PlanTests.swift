import Foundation
import TestSupport
import Testing

/// `sync -n` and `sync --plan`: what a sync would do, and only that.
@Suite(.runsPrograms) struct PlanTests {
    private func dataset(_ plan: [String: Any], _ name: String) throws -> [String: Any] {
        try #require((plan["datasets"] as? [[String: Any]])?.first { $0["name"] as? String == name })
    }

    private func counts(_ plan: [String: Any], _ name: String, _ side: String) throws -> [Int?] {
        let counts = try #require(try dataset(plan, name)[side] as? [String: Any])
        return ["added", "changed", "removed"].map { counts[$0] as? Int }
    }

    @Test func planSaysWhatASyncThenDoes() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run(
            """
            UPDATE notifications SET title = 'theirs' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 3);
            DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications);
            INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('~', 'new', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')
            """)
        let writer = try scene.json("sync phone.db -n")
        #expect(try counts(writer, "notifications", "cloud") == [0, 3, 1] && counts(writer, "buckets", "cloud") == [1, 0, 0])
        #expect(try counts(writer, "notifications", "local") == [0, 0, 0])
        try scene.sync("phone")

        // Here two of the same were changed, one earlier and one later, and another one deleted.
        let ids = try scene.database("watch.db").run("SELECT id FROM notifications ORDER BY id LIMIT 4").split(separator: "\n")
        try scene.database("watch.db").run(
            """
            UPDATE notifications SET title = 'late' WHERE id = '\(ids[0])';
            UPDATE notifications SET title = 'early', updatedAt = '2001-01-01T00:00:00Z' WHERE id = '\(ids[1])';
            DELETE FROM notifications WHERE id = '\(ids[3])'
            """)
        let before = try scene.database("watch.db").dump(), cloud = try scene.cloudListing()
        let plan = try scene.json("sync watch.db -n --all")
        #expect(try scene.database("watch.db").dump() == before && scene.cloudListing() == cloud)
        #expect(try counts(plan, "notifications", "local") == [0, 2, 1])
        let items = try #require(try dataset(plan, "notifications")["items"] as? [[String: Any]])
        let won = try #require(items.first { $0["key"] as? String == String(ids[0]) })
        #expect(won["wins"] as? String == "local" && won["side"] as? String == "kept" && (won["reason"] as? String)?.contains("later than") == true)
        #expect(items.contains { $0["key"] as? String == String(ids[3]) && $0["change"] as? String == "removed" && $0["side"] as? String == "kept" })
        #expect(try dataset(plan, "notifications")["conflicts"] as? Int == 3)
        #expect(try counts(plan, "buckets", "local") == [1, 0, 0])

        // The sync does just that.
        let rows = try scene.database("watch.db").values(of: "notifications", orderedBy: "id").split(separator: "\n")
        try scene.sync("watch")
        let after = try scene.database("watch.db").values(of: "notifications", orderedBy: "id").split(separator: "\n")
        let local = try counts(plan, "notifications", "local").compactMap(\.self)
        #expect(Set(after).subtracting(rows).count == local[0] + local[1] && Set(rows).subtracting(after).count == local[1] + local[2])
        #expect(try scene.value("SELECT title FROM notifications WHERE id = '\(ids[0])'", in: "watch.db") == "late")
        // What was decided stays decided.
        #expect(try counts(scene.json("sync watch.db -n"), "notifications", "local") == [0, 0, 0])
    }

    @Test func firstImportAndFirstExportArePlanned() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 20 --buckets 2")
        try scene.succeed("init phone.db cloud --built-in --name phone")
        #expect(try counts(scene.json("sync phone.db -n"), "notifications", "cloud") == [20, 0, 0])
        try scene.succeed("export phone.db")
        #expect(try scene.succeed("sync phone.db -n").contains("a sync would change nothing"))
        try scene.succeed("join watch.db cloud --name watch")
        let plan = try scene.json("sync watch.db -n")
        #expect(try counts(plan, "notifications", "local") == [20, 0, 0] && (dataset(plan, "notifications")["items"] as? [Any])?.count == 10)
        #expect(plan["version"] == nil && plan["newestVersion"] as? Int == 1 && plan["refusals"] as? [String] == [])
        #expect(try scene.succeed("sync watch.db -n").contains("and 10 more (--all)"))
    }

    @Test func planIsAppliedOnlyWhileNothingMoved() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.markRead(2)
        try scene.succeed("sync phone.db -n --out first.plan")
        try scene.refuse("sync phone.db -n --out first.plan", exit: 78, saying: ["first.plan", "there is a file of that name"])
        // A program writes a row meanwhile.
        try scene.markRead(1, from: 7)
        try scene.refuse("sync phone.db --plan first.plan", exit: 78, saying: ["phone.db", "changed since the plan was made"], watching: ["phone.db"])
        try scene.succeed("sync phone.db -n --out second.plan")
        #expect(try scene.succeed("sync phone.db --plan second.plan").hasPrefix("published version 2\n"))
        try scene.refuse("sync phone.db --plan second.plan", exit: 78, saying: ["changed since the plan was made"], watching: ["phone.db"])

        // Another version is published meanwhile.
        try scene.succeed("sync watch.db -n --out watch.plan")
        try scene.publishMore(1)
        try scene.refuse("sync watch.db --plan watch.plan", exit: 78, saying: ["another version was published"], watching: ["watch.db"])
        try scene.succeed("sync watch.db -n --out again.plan")
        #expect(try scene.succeed("sync watch.db --plan again.plan").hasPrefix("imported version 3\n"))
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))

        try scene.refuse("sync phone.db --plan again.plan", exit: 78, saying: ["made for another database"])
        try scene.scratch.write("{}", to: "no.plan")
        try scene.refuse("sync phone.db --plan no.plan", exit: 65, saying: ["no plan of this version"], asJSONToo: true)
        try scene.refuse("sync phone.db --plan none.plan", exit: 66, saying: ["none.plan", "snapsync sync phone.db -n --out"])
    }

    @Test func writerBehindItsZoneIsTold() throws {
        let scene = try Scene.phone()
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "backup.db")
        try scene.publishMore(1)
        #expect((try scene.json("sync backup.db -n")["refusals"] as? [String])?.first?.contains("run snapsync import first") == true)
        #expect(try counts(scene.json("sync backup.db -n"), "notifications", "local") == [0, 1, 0])
    }

    /// A table of the application that is not synced refers to a row that the version deletes: the plan says that the import will be refused.
    @Test(arguments: zip(["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL"], ["reader", "peer", "reader", "peer"]))
    func planTellsThatAForeignKeyWouldForbidTheImport(action: String, role: String) throws {
        let scene = try Scene.pair(
            "CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL); INSERT INTO lists VALUES('kept'), ('p')", roles: (role == "reader" ? "writer" : role, role))
        try scene.database("b.db").run("CREATE TABLE pins(list TEXT REFERENCES lists(id) \(action)); INSERT INTO pins VALUES('p')")
        try scene.database("a.db").run("DELETE FROM lists WHERE id = 'p'")
        try scene.succeed("sync a.db --quiet")

        let plan = try scene.json("sync b.db -n"), refusals = try #require(plan["refusals"] as? [String])
        #expect(try counts(plan, "lists", "local") == [0, 0, 1])
        #expect(try scene.database("b.db").run("SELECT count(*) FROM lists; SELECT list FROM pins") == "2\np\n")
        let isForbidden = action.isEmpty || action.hasSuffix("RESTRICT")
        #expect(refusals.count == (isForbidden ? 1 : 0))
        if isForbidden {
            #expect(refusals.first?.contains("table pins: 1 row would point at rows of lists that are not there") == true)
            try scene.refuse("sync b.db", exit: 65, saying: ["1 row would point at rows of lists"])
        } else {
            try scene.sync("b")
        }
    }
}
