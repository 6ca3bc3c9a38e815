import Foundation
import SnapshotModel
import TestSupport
import Testing

/// The frozen files of format version 1 are read as they always were; see `Fixtures/README.md`.
@Suite(.runsPrograms) struct FixtureTests {
    /// A scene with a copy of a folder of fixtures in it.
    private func scene(_ folder: String) throws -> Scene {
        let scene = try Scene()
        let source = CommandPage.root.appendingPathComponent("Fixtures/\(folder)").path
        for name in try FileManager.default.contentsOfDirectory(atPath: source) { try scene.scratch.copy("\(source)/\(name)", to: name) }
        return scene
    }

    private let asset2 = "assets/notifications_data/00000000000000000002-c13a870d.json.gz"

    @Test func everyVersionIsSoundAndSaysWhatItSaid() throws {
        let scene = try scene("synced-1")
        #expect(try scene.succeed("verify --all --cloud cloud").hasSuffix("all is well\n"))
        for version in 1...2 {
            for dataset in ["buckets", "notifications"] {
                let expected = try scene.scratch.read("expected/\(dataset)-\(version).json")
                #expect(try scene.run("cat \(dataset) --version \(version) --cloud cloud").output == expected)
            }
        }
        #expect(try Gzip.decompress(scene.scratch.path("\(Scene.zone)/\(asset2)")) == scene.scratch.read("expected/notifications-2.json"))
        let container = try JSONDecoder().decode(NotificationsDataContainer.self, from: scene.scratch.read("expected/notifications-2.json"))
        #expect(container.notifications.count == 11 && container.syncTimestamp == "2026-11-28T05:49:30.635546Z", "\(container.syncTimestamp)")
        #expect(container.notifications.last?.body == "line one\ntab\tnul-free \u{1}\u{7F} end")
        let versions = try #require(try scene.json("history --cloud cloud")["versions"] as? [[String: Any]])
        #expect(versions.map { $0["hash"] as? String } == [try sha256(scene, 2), try sha256(scene, 1)])
    }

    private func sha256(_ scene: Scene, _ version: Int) throws -> String {
        String(try ProgramRun("sha256sum", [scene.scratch.path("\(Scene.zone)/commits/0000000000000000000\(version).json")]).text.prefix(64))
    }

    @Test func readerOfThatTimeImportsTheNextVersion() throws {
        let scene = try scene("synced-1")
        #expect(try scene.json("status --db watch.db --cloud cloud")["behind"] as? Int == 1)
        try scene.succeed("verify --local --db watch.db --cloud cloud")
        #expect(try scene.succeed("sync --db watch.db --cloud cloud").hasPrefix("imported version 2\n"))
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("verify --all --local --db watch.db --cloud cloud")
    }

    @Test func writerOfThatTimePublishesTheNextVersion() throws {
        let scene = try scene("synced-1")
        let before = try scene.cloudListing()
        #expect(try scene.succeed("sync --db phone.db --cloud cloud") == "nothing new since version 2; nothing was written\n")
        #expect(try scene.cloudListing() == before)
        try scene.succeed("generate --db phone.db --mark-read 1 --seed 3")
        #expect(try scene.json("sync --db phone.db --cloud cloud")["exported"] is [String: Any])
        try scene.succeed("sync --db watch.db --cloud cloud")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        try scene.succeed("verify --all --local --db watch.db --cloud cloud")
        try scene.succeed("detach --db phone.db")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'snapsync%'") == "0\n")
    }

    @Test func tablesOfThatTimeArriveByteForByte() throws {
        let scene = try scene("plant-1")
        try scene.database("office.db").run(
            """
            CREATE TABLE "sensor readings"(id INTEGER PRIMARY KEY, changed_at TEXT NOT NULL, level, valid BOOLEAN, details TEXT, raw BLOB);
            CREATE TABLE labels(label TEXT PRIMARY KEY NOT NULL, count INTEGER NOT NULL);
            """)
        try scene.succeed("init --db office.db --cloud cloud --role reader --datasets plant.json")
        try scene.succeed("import --db office.db")
        for (table, key) in [("sensor readings", "id"), ("labels", "label")] {
            let frozen = try scene.database("plant.db").values(of: table, orderedBy: key)
            #expect(try scene.database("office.db").values(of: table, orderedBy: key) == frozen)
            #expect(frozen.split(separator: "\n").count >= 6)
        }
        // Today's writer makes the same blocks of the same rows.
        try scene.succeed("init --db plant.db --cloud again --role writer --device plant --datasets plant.json")
        try scene.succeed("export --db plant.db")
        for (dataset, folder) in [("readings", "readings"), ("labels", "labels_data")] {
            let names = try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("cloud/private/ZentikSyncZone/assets/\(folder)"))
            let frozen = try Gzip.decompress(
                scene.scratch.path("cloud/private/ZentikSyncZone/assets/\(folder)/\(try #require(names.first { $0.hasSuffix(".gz") }))"))
            let now = try scene.run("cat \(dataset) --cloud again").output
            #expect(frozen.drop { $0 != UInt8(ascii: "\n") } == now.drop { $0 != UInt8(ascii: "\n") }, "\(dataset)")
        }
    }

    @Test(arguments: ["notifications.json.gz", "notifications-two-members.json.gz"])
    func containersOfAnotherProgramAreImported(file: String) throws {
        let scene = try scene("foreign-1")
        try scene.succeed("generate --db any.db --notifications 0 --buckets 0")
        #expect(
            try scene.json("import --db any.db --file \(file)")["warnings"] as? [String] == [
                "notifications: the fields unknownToUs are not known and were left out"
            ])
        let rows = try scene.database("any.db").run(
            "SELECT id, title, quote(subtitle), body, updatedAt, attachments, actions, tapAction FROM notifications ORDER BY id")
        #expect(
            rows == """
                a||NULL||2026-01-02T03:04:05Z|[]|[
                        {
                          "type": "DELETE",
                          "destructive": true
                        }
                      ]|
                b|Zweite|NULL|ünïcödé 🛰 "quoted"|2026-01-02T03:04:05.678+01:00|[
                        {
                          "mediaType": "IMAGE",
                          "url": "https://example.org/a?b=c&d",
                          "extra": null
                        }
                      ]|[]|{
                        "type": "NAVIGATE",
                        "value": "app://1",
                        "destructive": false
                      }

                """)
    }

    @Test(arguments: ["flipped-bit.json.gz", "cut-at-member.json.gz"])
    func damagedAssetsAreRefused(file: String) throws {
        let scene = try scene("synced-1")
        let damaged = CommandPage.root.appendingPathComponent("Fixtures/damaged-1/\(file)").path
        try scene.scratch.copy(damaged, to: "damaged.json.gz")
        let rows = try scene.contents("watch.db")
        try scene.refuse("import --db watch.db --file damaged.json.gz", exit: 65, saying: ["damaged.json.gz"], watching: ["watch.db"])
        try scene.scratch.write(scene.scratch.read("damaged.json.gz"), to: "\(Scene.zone)/\(asset2)")
        // One that is too short and young would count as still arriving.
        try scene.scratch.age("\(Scene.zone)/\(asset2)", minutes: 60)
        try scene.refuse("import --db watch.db --cloud cloud", exit: 65, saying: ["notifications"])
        #expect(try scene.contents("watch.db") == rows)
        #expect(try scene.json("status --db watch.db --cloud cloud")["version"] as? Int == 1)
        let run = try scene.run("verify --all --cloud cloud")
        #expect(run.status == 65 && run.text.contains("damaged: version 2, notifications_data (\(asset2)): "), "\(run.text)")
    }
}
