import Foundation
import SnapshotModel
import TestSupport
import Testing

/// Records of the old layout, one file each, become rows of a writer, and versions of the zone.
@Suite(.runsPrograms) struct MigrateTests {
    private static func bucket(_ id: String, _ name: String = "Old", updated: String = "2025-05-05T00:00:00Z", more: String = "") -> String {
        #"{"id":"\#(id)","name":"\#(name)","createdAt":"2025-01-01T00:00:00Z","updatedAt":"\#(updated)"\#(more)}"#
    }

    private static func notification(_ id: String, bucket: String, more: String = #","attachments":[],"actions":[]"#) -> String {
        #"{"id":"\#(id)","title":"Old \#(id)","createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-05-05T00:00:00Z","bucketId":"\#(bucket)"\#(more)}"#
    }

    /// A writer that has published, a reader that follows, and a directory of old records.
    private func scene(_ files: [String: String]) throws -> Scene {
        let scene = try Scene.phoneAndWatch(notifications: 5, buckets: 2)
        for (name, text) in files { try scene.scratch.write(text, to: "old/\(name)") }
        return scene
    }

    @Test func foldersOfRecordsReachTheReader() throws {
        let scene = try scene([
            "Bucket/b1.json": Self.bucket("b1", more: #","isOrphan":true,"color":null"#),
            "Notification/n1.json": Self.notification(
                "n1", bucket: "b1",
                more:
                    #","attachments":[{"mediaType":"IMAGE","url":"https://x.example/a.png"}], "actions" : [ ],"tapAction":{"type":"OPEN","destructive":false}"#),
            "Notification/n2.json": Self.notification("n2", bucket: "b1"),
        ])
        #expect(
            try scene.succeed("migrate --db phone.db --from old") == """
                phone.db: brought over what is in old
                  buckets: 1 added, 0 replaced of 1 files
                  notifications: 2 added, 0 replaced of 2 files

                """)
        #expect(try scene.json("status --db phone.db").description.contains("changes"))
        try scene.succeed("sync --db phone.db")
        try scene.succeed("sync --db watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("watch.db").run("SELECT name, isOrphan, color IS NULL FROM buckets WHERE id = 'b1'") == "Old|1|1\n")
        #expect(
            try scene.database("watch.db").run("SELECT attachments, tapAction FROM notifications WHERE id = 'n1'")
                == #"[{"mediaType":"IMAGE","url":"https://x.example/a.png"}]|{"type":"OPEN","destructive":false}"# + "\n")
        try scene.succeed("verify --local --db watch.db")
        // The same again changes nothing, and the next sync has nothing to say.
        let again = try scene.json("migrate --db phone.db --from old")
        #expect((again["datasets"] as? [[String: Any]])?.map { $0["older"] as? Int } == [1, 2])
        #expect(try scene.succeed("sync --db phone.db").hasPrefix("nothing new since version 2"))
    }

    @Test func flatDirectoryGoesByRecordType() throws {
        let scene = try scene([
            "1.json": Self.bucket("b1", more: #","recordType":"Bucket","recordName":"b1""#),
            "2.json": #"{"recordType":"notifications","# + String(Self.notification("n1", bucket: "b1").dropFirst()),
        ])
        try scene.succeed("migrate --db phone.db --from old")
        #expect(try scene.database("phone.db").run("SELECT bucketId FROM notifications WHERE id = 'n1'") == "b1\n")
    }

    @Test func laterUpdateWinsAmongFilesAndAgainstTheRow() throws {
        let scene = try scene([
            "bucket/a.json": Self.bucket("b1", "one hour earlier, though it reads later", updated: "2025-05-05T12:30:00+02:00"),
            "bucket/b.json": Self.bucket("b1", "the latest", updated: "2025-05-05T11:30:00.5Z"),
            "bucket/c.json": Self.bucket("b1", "as late, in a file whose name comes after", updated: "2025-05-05T11:30:00.500Z"),
            "bucket/d.json": Self.bucket("here", "later than the row", updated: "2025-05-05T00:00:00Z"),
            "bucket/e.json": Self.bucket("new", "earlier than the row", updated: "2025-05-05T00:00:00Z"),
            "bucket/f.json": Self.bucket("same", "as late as the row", updated: "2025-05-05T02:00:00+02:00"),
        ])
        for (id, updated) in [("here", "2025-05-04T23:59:59Z"), ("new", "2025-05-05T00:00:00.000001Z"), ("same", "2025-05-05T00:00:00Z")] {
            try scene.database("phone.db").run(
                "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(id)', 'row', '2025-01-01T00:00:00Z', '\(updated)')")
        }
        let report = try scene.json("migrate --db phone.db --from old")
        let counts = try #require((report["datasets"] as? [[String: Any]])?.first)
        #expect(["files", "added", "replaced", "older", "duplicates"].map { counts[$0] as? Int } == [6, 1, 1, 2, 2])
        #expect(
            try scene.database("phone.db").run("SELECT id, name FROM buckets WHERE id IN ('b1', 'here', 'new', 'same') ORDER BY id")
                == "b1|the latest\nhere|later than the row\nnew|row\nsame|row\n")
    }

    /// Files that are no entity, and what is said of each.
    private static let bad: [(name: String, text: String, says: String)] = [
        ("Bucket/a.json", "", "not strict JSON"), ("Bucket/b.json", "[" + bucket("x") + "]", "it is not one JSON object"),
        ("Bucket/c.json", bucket("x") + bucket("y"), "not strict JSON: text after the end"),
        ("Bucket/d.json", bucket("x") + "," + bucket("y"), "text after the end"),
        ("Bucket/e.json", bucket("x") + #"],"more":["#, "text after the end"), ("Bucket/f.json", #"{"id":"x","name":"no dates"}"#, "the field is missing"),
        ("Bucket/g.json", bucket("x", updated: "yesterday"), "updatedAt is not an RFC 3339 date and time"),
        ("Bucket/h.json", bucket("x", updated: "2025-02-30T00:00:00Z"), "updatedAt is not"),
        ("Bucket/i.json", bucket("x", more: #","id":"y""#), "a key stands twice"), ("Bucket/j.json", bucket("x", more: #","isOrphan":"yes""#), "isOrphan"),
        ("Bucket/k.json", bucket("x", more: #","recordType":"Notification""#), "its recordType is another dataset's than its folder"),
        ("Bucket/l.json", bucket("x", more: #","recordType":7"#), "recordType is not a text"),
        ("Notification/a.json", notification("x", bucket: "none"), "it refers to a row that is neither here nor in another file"),
        ("Notification/b.json", notification("x", bucket: "b1", more: #","attachments":"[]","actions":[]"#), "attachments"),
        ("Notification/c.json", notification("x", bucket: "b1", more: ""), "the field is missing"),
        ("Folder/a.json", bucket("x"), #"no dataset is called "Folder""#), ("flat.json", bucket("x"), "it has no recordType"),
    ]

    @Test func badFilesAreNamedAndStopAll() throws {
        for bad in Self.bad {
            let scene = try scene(["Bucket/good.json": Self.bucket("b1"), bad.name: bad.text])
            try scene.refuse(
                "migrate --db phone.db --from old", exit: 65, saying: ["old: 1 file cannot be brought over: \(bad.name): ", bad.says, "--skip-bad"],
                watching: ["phone.db"], asJSONToo: false)
            let dry = try scene.run("migrate --db phone.db --from old --dry-run")
            #expect(dry.status == 65 && dry.text.contains("  bad: \(bad.name): "), "\(dry.text)\(dry.errorText)")
            let skipped = try scene.json("migrate --db phone.db --from old --skip-bad")
            #expect((skipped["badFiles"] as? [[String: Any]])?.map { $0["file"] as? String } == [bad.name])
            #expect(try scene.database("phone.db").run("SELECT count(*) FROM buckets WHERE id = 'b1'") == "1\n")
            #expect(
                try scene.database("phone.db").run(
                    "SELECT count(*) FROM (SELECT id FROM buckets UNION ALL SELECT id FROM notifications) WHERE id IN ('x', 'y')") == "0\n")
        }
    }

    @Test func dryRunTellsAndChangesNothing() throws {
        let scene = try scene([
            "Bucket/b1.json": Self.bucket("b1"), "Notification/n1.json": Self.notification("n1", bucket: "b1"), "Bucket/readme.txt": "?", ".hidden.json": "?",
        ])
        let before = try scene.database("phone.db").dump()
        let report = try scene.json("migrate --db phone.db --from old --dry-run")
        #expect(report["isDryRun"] as? Bool == true && report["otherFiles"] as? [String] == ["Bucket/readme.txt"])
        #expect((report["datasets"] as? [[String: Any]])?.map { $0["added"] as? Int } == [1, 1])
        #expect(try scene.database("phone.db").dump() == before)
        #expect(try scene.succeed("sync --db phone.db").hasPrefix("nothing new"))
    }

    @Test func readersAndDatabasesThatAreNotSetUpAreRefused() throws {
        let scene = try scene(["Bucket/b1.json": Self.bucket("b1")])
        try scene.refuse(
            "migrate --db watch.db --from old", exit: 78, saying: ["this device is a reader: read-only", "migrate at the writer"], watching: ["watch.db"])
        try scene.refuse("migrate --db phone.db --from none", exit: 66, saying: ["none", "there is no such directory", "--from"], watching: ["phone.db"])
        try scene.succeed("generate --db plain.db --notifications 1 --buckets 1")
        try scene.refuse("migrate --db plain.db --from old", exit: 78, saying: ["not set up for syncing"], watching: ["plain.db"])
        // Turned off, it works all the same: the cloud has no part in it.
        try scene.succeed("disable --db phone.db")
        try scene.succeed("migrate --db phone.db --from old")
    }
}
