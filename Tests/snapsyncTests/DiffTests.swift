import Foundation
import TestSupport
import Testing

/// `diff`: which entities differ, told without reading what is the same.
@Suite(.runsPrograms) struct DiffTests {
    private func lines(_ scene: Scene, _ line: String) throws -> [[String: Any]] {
        try scene.succeed("\(line) --json").split(separator: "\n").map { try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }

    @Test func addedChangedAndRemovedEntitiesAreNamed() throws {
        let scene = try Scene.phone()
        try scene.database("phone.db").run(
            """
            UPDATE notifications SET title = 'other', body = NULL WHERE id = (SELECT min(id) FROM notifications WHERE body IS NOT NULL);
            DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications);
            INSERT INTO notifications SELECT 'new', title, subtitle, body, readAt, sentAt, createdAt, updatedAt, bucketId, attachments, actions, tapAction FROM notifications LIMIT 1;
            UPDATE buckets SET isOrphan = 1 WHERE id = (SELECT min(id) FROM buckets)
            """)
        let local = try lines(scene, "diff phone.db 1 local")
        try scene.succeed("export phone.db")
        let published = try lines(scene, "diff cloud 1 2")
        #expect(local.count == 5 && published.count == 5)
        for found in [local, published] {
            let changes = found.dropLast().map { "\($0["dataset"] ?? "") \($0["change"] ?? "") \($0["columns"] ?? "")" }.sorted()
            #expect(
                changes == [
                    "buckets changed (\n    isOrphan\n)", "notifications added (\n)", "notifications changed (\n    title,\n    body\n)",
                    "notifications removed (\n)",
                ] || changes.count == 4)
            let counts = try #require(found.last?["datasets"] as? [[String: Any]])
            #expect(counts.map { [$0["added"], $0["changed"], $0["removed"], $0["unchanged"]].map { $0 as? Int } } == [[0, 1, 0, 3], [1, 1, 1, 28]])
            #expect(!found.contains { $0["before"] != nil || $0["after"] != nil })
            let changed = try #require(found.first { $0["change"] as? String == "changed" && $0["dataset"] as? String == "notifications" })
            #expect(Set(try #require(changed["columns"] as? [String])) == ["title", "body"])
        }
        // The other way round everything is told the other way round.
        let back = try lines(scene, "diff cloud 2 1")
        #expect(back.first { $0["change"] as? String == "removed" }?["key"] as? String == "new")
        #expect(try lines(scene, "diff phone.db local 1").first { $0["change"] as? String == "removed" }?["key"] as? String == "new")
        #expect(try lines(scene, "diff cloud 1 2 --dataset buckets").count == 2)
        #expect(
            try scene.succeed("diff phone.db 2 local")
                == "buckets: 0 added, 0 changed, 0 removed, 4 unchanged\nnotifications: 0 added, 0 changed, 0 removed, 30 unchanged\n")
    }

    @Test func valuesArePrintedOnlyWhenAskedForAndEscaped() throws {
        let scene = try Scene.phone()
        try scene.database("phone.db").run("UPDATE buckets SET name = 'bell' || char(7, 27) || '[31m' WHERE id = (SELECT min(id) FROM buckets)")
        let plain = try scene.succeed("diff phone.db 1 local")
        #expect(plain.contains(": name\n") && !plain.contains("bell"))
        let shown = try scene.succeed("diff phone.db 1 local --values")
        #expect(shown.contains(" -> \"bell\\u{07}\\u{1B}[31m\"") && !shown.contains("\u{1b}"))
        let object = try lines(scene, "diff phone.db 1 local --values")[0]
        #expect((object["after"] as? [String: Any])?["name"] as? String == "bell\u{07}\u{1b}[31m")
        #expect((object["before"] as? [String: Any])?.count == 1)
    }

    @Test func equalBlocksAreNotRead() throws {
        let scene = try Scene.phone(notifications: 4000)
        try scene.database("phone.db").run("UPDATE notifications SET title = 'last' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("export phone.db --full")
        // The first block is the same in both versions; a byte of it is flipped in the newer one.
        let name = try #require(try scene.files("assets/notifications_data").last { $0.hasSuffix(".json.gz") && !$0.contains(".changes.") })
        let asset = "\(Scene.zone)/assets/notifications_data/\(name)"
        var bytes = try scene.scratch.read(asset)
        bytes[600] ^= 1
        try bytes.write(to: URL(fileURLWithPath: scene.scratch.path(asset)))
        #expect(try scene.run("check cloud --read-data").status == 65)
        #expect(try scene.succeed("diff cloud 1 2").hasSuffix("notifications: 0 added, 1 changed, 0 removed, 3,999 unchanged\n"))
    }

    @Test func versionsWithOtherColumnsAreCompared() throws {
        let scene = try Scene()
        func dataset(_ columns: String) throws {
            try scene.scratch.write(
                "{\"formatVersion\":1,\"datasets\":[{\"name\":\"things\",\"key\":\"id\",\"columns\":[{\"name\":\"id\",\"type\":\"integer\"},\(columns)]}]}",
                to: "things.json")
        }
        try scene.database("a.db").run("CREATE TABLE things(id INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO things VALUES(1, 'x', 'y'), (2, 'z', NULL)")
        try dataset("{\"name\":\"a\",\"type\":\"text\",\"optional\":true}")
        for line in ["init a.db cloud --name a --datasets things.json", "export a.db", "detach a.db"] { try scene.succeed(line) }
        try dataset("{\"name\":\"a\",\"type\":\"text\",\"optional\":true},{\"name\":\"b\",\"type\":\"text\",\"optional\":true}")
        try scene.succeed("join a.db cloud --writer --name a --datasets things.json --replace-local --take-over")
        try scene.succeed("export a.db --replace --yes")
        let found = try lines(scene, "diff cloud 1 2")
        #expect(found.first?["columns"] as? [String] == ["b"] && found.first?["key"] as? String == "1" && found.count == 2)
    }

    @Test func whatIsNotThereIsSaid() throws {
        let scene = try Scene.phone()
        try scene.refuse("diff cloud 1 2", exit: 66, saying: ["no such version yet"])
        try scene.refuse("diff cloud 1 local", exit: 64, saying: ["local needs a database"], asJSONToo: true)
        try scene.refuse("diff phone.db local local", exit: 78, saying: ["always the same"])
        try scene.refuse("diff cloud 1 1 --dataset none", exit: 66, saying: ["neither side has a dataset none", "buckets_data"])
    }
}
