import Foundation
import SnapshotModel
import TestSupport
import Testing

/// Containers that other programs make, brought in with `import --file`, without any cloud.
@Suite(.runsPrograms) struct ForeignContainerTests {
    private static let notifications = NotificationsDataContainer(
        notifications: [
            SnapshotModel.Notification(
                id: "n-2", title: "Zweite — \"quoted\" / slashed", body: "a\nb\t\u{1F6F0}", readAt: "2026-05-01T10:00:00.5Z", createdAt: "2026-05-01T09:00:00Z",
                updatedAt: "2026-05-01T10:00:00.500Z", bucketId: "b-1",
                attachments: [NotificationAttachment(mediaType: "IMAGE", url: "https://example.org/a.png?x=1&y=2", name: nil)],
                actions: [NotificationAction(type: "DELETE", title: "Löschen", destructive: true)],
                tapAction: NotificationAction(type: "NAVIGATE", value: "https://example.org/", destructive: false)),
            SnapshotModel.Notification(id: "n-1", title: "", createdAt: "2026-05-01T09:00:00+02:00", updatedAt: "2026-05-01T09:00:00+02:00", bucketId: "b-1"),
        ], syncTimestamp: "2026-05-01T12:00:00.000Z")
    private static let buckets = BucketsDataContainer(
        buckets: [
            Bucket(
                id: "b-1", name: "Eins", description: nil, color: "#fff", createdAt: "2026-05-01T09:00:00Z", updatedAt: "2026-05-01T09:00:00Z", isOrphan: false)
        ],
        syncTimestamp: "2026-05-01T12:00:00.000Z")

    /// A database with the built-in tables that was never set up for syncing.
    private func scene() throws -> Scene {
        let scene = try Scene()
        try scene.succeed("generate any.db --notifications 0 --buckets 0")
        return scene
    }

    @Test(arguments: [JSONEncoder.OutputFormatting(), [.prettyPrinted], [.sortedKeys, .withoutEscapingSlashes]])
    func whatJSONEncoderAndGzipMakeIsImported(formatting: JSONEncoder.OutputFormatting) throws {
        let scene = try scene()
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        try scene.scratch.write(Gzip.compress(encoder.encode(Self.buckets)), to: "buckets.json.gz")
        try scene.scratch.write(Gzip.compress(encoder.encode(Self.notifications)), to: "notifications.json.gz")
        #expect(try scene.succeed("import any.db --file buckets.json.gz").hasPrefix("imported the file\n  buckets: 1 entity of 2026-05-01T12:00:00"))
        try scene.succeed("import any.db --file notifications.json.gz")

        let database = scene.database("any.db")
        #expect(try database.run("SELECT id, name, quote(description), color, isOrphan FROM buckets") == "b-1|Eins|NULL|#fff|0\n")
        let rows = try database.run(
            """
            SELECT json_group_array(json_object('id', id, 'title', title, 'subtitle', subtitle, 'body', body, 'readAt', readAt, 'sentAt', sentAt,
                'createdAt', createdAt, 'updatedAt', updatedAt, 'bucketId', bucketId, 'attachments', json(attachments),
                'actions', json(actions), 'tapAction', json(tapAction))) FROM (SELECT * FROM notifications ORDER BY id DESC)
            """)
        #expect(try JSONDecoder().decode([SnapshotModel.Notification].self, from: Data(rows.utf8)) == Self.notifications.notifications)
        // A database that was never set up stays so.
        #expect(try database.run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
    }

    @Test func plainJSONInAnyOrderWithUnknownFieldsIsImported() throws {
        let scene = try scene()
        try scene.scratch.write(
            """
            { "madeBy": {"app": "other", "list": [1, 2.5e3, null]},
              "buckets": [ {"updatedAt":"2026-01-02T00:00:00Z","id":"x","createdAt":"2026-01-01T00:00:00Z","mood":[1],"name":"\\u0041\\ud83d\\udef0","isOrphan":null} ],
              "syncTimestamp":"2026-01-02T00:00:00+01:00" }
            """, to: "plain.json")
        // A column of the application stays.
        let row = "INSERT INTO buckets(id, name, createdAt, updatedAt, mine) VALUES('x', 'old', '2025-01-01T00:00:00Z', '2025-01-01T00:00:00Z', 'own')"
        try scene.database("any.db").run("ALTER TABLE buckets ADD COLUMN mine TEXT; \(row)")
        let report = try scene.json("import any.db --file plain.json")
        #expect(report["warnings"] as? [String] == ["buckets: the fields mood are not known and were left out"])
        #expect(try scene.database("any.db").run("SELECT id, name, quote(isOrphan), mine FROM buckets") == "x|A🛰|NULL|own\n")
    }

    @Test func assetsOfOursAreImportedAsFilesToo() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate any.db --notifications 5 --buckets 2 --seed 8")
        try scene.succeed("import any.db --file \(scene.asset("buckets"))")
        try scene.succeed("import any.db --file \(scene.asset("notifications"))")
        #expect(try scene.contents("any.db") == scene.contents("phone.db"))
    }

    @Test func fileAtAReaderOnlyAddsRows() throws {
        let scene = try Scene.phoneAndWatch()
        let newest = try scene.contents("watch.db")
        // Later than whatever the clock said at the export.
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","notifications":[]}"#, to: "none.json")
        try scene.refuse(
            "import watch.db --file none.json", exit: 78, saying: ["this device is a reader", "snapsync import watch.db --add --file none.json"],
            watching: ["watch.db"])
        try scene.succeed("import watch.db --file none.json --add")
        #expect(try scene.contents("watch.db") == newest)
    }

    @Test func fileAtAWriterIsPublishedNext() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","notifications":[]}"#, to: "none.json")
        try scene.succeed("import phone.db --file none.json")
        #expect(try scene.json("export phone.db --allow-shrink notifications")["version"] as? Int == 2)
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM notifications") == "0\n")
    }

    @Test func fileAtAPeerReplacesNothingThatNoVersionHas() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.scratch.write(#"{"syncTimestamp":"2099-01-01T00:00:00Z","notifications":[]}"#, to: "none.json")
        try scene.database("laptop.db").run("UPDATE notifications SET title = 'only here' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.refuse(
            "import laptop.db --file none.json", exit: 78, saying: ["1 entity was changed here and is in no version yet", "snapsync sync laptop.db"],
            watching: ["laptop.db"])
        try scene.sync("laptop")
        try scene.succeed("import laptop.db --file none.json")
        #expect(try scene.database("laptop.db").run("SELECT count(*) FROM notifications") == "0\n")
    }

    @Test func olderFileIsRefusedUnlessAccepted() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.write(#"{"syncTimestamp":"2001-01-01T00:00:00Z","notifications":[]}"#, to: "old.json")
        try scene.refuse(
            "import phone.db --file old.json", exit: 65,
            saying: ["old.json", "2001-01-01T00:00:00", "older than that of the data here", "--accept-older"], watching: ["phone.db"])
        try scene.succeed("import phone.db --file old.json --accept-older")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications") == "0\n")
    }

    /// Records of an older layout, a file each, which `jq` puts into one container: docs/from-cloudkit.md.
    @Test func recordsOfAnOlderLayoutAreAddedAsEdits() throws {
        let scene = try Scene.phoneAndWatch(notifications: 5, buckets: 2)
        func bucket(_ id: String, _ name: String, updated: String, more: String = "") -> String {
            #"{"id":"\#(id)","name":"\#(name)","createdAt":"2025-01-01T00:00:00Z","updatedAt":"\#(updated)"\#(more)}"#
        }
        try scene.scratch.write(bucket("b1", "one hour earlier, though it reads later", updated: "2025-05-05T12:30:00+02:00"), to: "old/a.json")
        try scene.scratch.write(bucket("b1", "the latest", updated: "2025-05-05T11:30:00.5Z", more: #","recordType":"Bucket""#), to: "old/b.json")
        try scene.scratch.write(bucket("here", "later than the row", updated: "2025-05-05T00:00:00Z"), to: "old/c.json")
        try scene.scratch.write(bucket("new", "earlier than the row", updated: "2025-05-05T00:00:00Z"), to: "old/d.json")
        for (id, updated) in [("here", "2025-05-04T23:59:59Z"), ("new", "2025-05-05T00:00:00.000001Z")] {
            try scene.database("phone.db").run(
                "INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(id)', 'row', '2025-01-01T00:00:00Z', '\(updated)')")
        }
        let jq = try ProgramRun("/bin/sh", ["-c", "jq -s '{syncTimestamp: (now | todate), buckets: .}' old/*.json > all.json"], in: scene.scratch.path)
        try #require(jq.status == 0, "\(jq.errorText)")
        let text = try scene.succeed("import phone.db --file all.json --add")
        for sentence in [
            "the fields recordType are not known and were left out", "buckets: 2 rows of the file replaced an earlier row of the table",
            "buckets: 1 row of the file left out: the table has the row, and not an earlier one",
        ] { #expect(text.contains(sentence), "\(text)") }
        #expect(
            try scene.database("phone.db").run("SELECT id, name FROM buckets WHERE id IN ('b1', 'here', 'new') ORDER BY id")
                == "b1|the latest\nhere|later than the row\nnew|row\n")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM buckets") == "5\n")
        // The same again changes nothing; the rows travel as edits.
        try scene.sync("phone")
        try scene.succeed("import phone.db --file all.json --add")
        #expect(try scene.succeed("sync phone.db").hasPrefix("nothing new since version 2"))
        try scene.sync("watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        // A row that is not valid stops all; a database that is not set up has no edits.
        try scene.scratch.write(#"{"syncTimestamp":"2026-01-01T00:00:00Z","buckets":[{"id":"x","name":"X"}]}"#, to: "bad.json")
        try scene.refuse("import phone.db --file bad.json --add", exit: 65, saying: ["entity 0", "missing"], watching: ["phone.db"])
        try scene.succeed("generate plain.db --notifications 1 --buckets 1")
        try scene.refuse("import plain.db --file all.json --add", exit: 66, saying: ["not set up for syncing"], watching: ["plain.db"])
    }

    /// Files that are wrong, each with what the refusal says. ContainerReaderTests and FileImporterTests have others.
    private static let damaged: [(String, [String])] = [
        ("", ["it ends at byte 0"]),
        (#"{"syncTimestamp":"2026-01-01T00:00:00Z","rooms":[]}"#, ["none of the datasets buckets, notifications"]),
        (#"{"syncTimestamp":"2026-01-01T00:00:00Z","buckets":[{"id":7,"name":"A","createdAt":"x","updatedAt":"y"}]}"#, ["entity 0", "column id"]),
    ]

    @Test func filesThatAreWrongChangeNothing() throws {
        let scene = try Scene.phoneAndWatch(notifications: 6, buckets: 2)
        for (text, fragments) in Self.damaged {
            try scene.scratch.write(text, to: "bad.json")
            try scene.refuse("import phone.db --file bad.json", exit: 65, saying: fragments, watching: ["phone.db"])
        }
        // The last good entity does not help the first bad one, and a cut gzip file is not a short one.
        let whole = try Gzip.compress(JSONEncoder().encode(Self.notifications))
        try scene.scratch.write(whole.prefix(whole.count / 2), to: "cut.json.gz")
        try scene.refuse("import phone.db --file cut.json.gz", exit: 65, saying: ["cut.json.gz"], watching: ["phone.db"])
        try scene.refuse("import phone.db --file nowhere.json", exit: 66, saying: ["nowhere.json", "cannot be opened"], watching: ["phone.db"])
    }
}
