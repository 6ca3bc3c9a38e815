import Foundation
import SnapshotModel
import TestSupport
import Testing

/// The frozen files of format version 1 are read as they always were; see `Fixtures/README.md`.
@Suite(.runsPrograms) struct FixtureTests {
    /// A scene with a copy of a folder of fixtures in it.
    private func scene(_ folder: String) throws -> Scene {
        let scene = try Scene()
        let source = Repository.path("Fixtures/\(folder)")
        for name in try FileManager.default.contentsOfDirectory(atPath: source) { try scene.scratch.copy("\(source)/\(name)", to: name) }
        return scene
    }

    private let asset2 = "assets/notifications_data/00000000000000000002-c13a870d.json.gz"

    @Test func everyVersionIsSoundAndSaysWhatItSaid() throws {
        let scene = try scene("synced-1")
        #expect(try scene.succeed("check cloud --all-versions").hasSuffix("all is well\n"))
        for version in 1...2 {
            for dataset in ["buckets", "notifications"] {
                let expected = try scene.scratch.read("expected/\(dataset)-\(version).json")
                #expect(try scene.run("show cloud \(dataset) --at \(version)").output == expected)
            }
        }
        #expect(try Gzip.decompress(scene.scratch.path("\(Scene.zone)/\(asset2)")) == scene.scratch.read("expected/notifications-2.json"))
        let container = try JSONDecoder().decode(NotificationsDataContainer.self, from: scene.scratch.read("expected/notifications-2.json"))
        #expect(container.notifications.count == 11 && container.syncTimestamp == "2026-11-28T05:49:30.635546Z", "\(container.syncTimestamp)")
        #expect(container.notifications.last?.body == "line one\ntab\tnul-free \u{1}\u{7F} end")
        let versions = try #require(try scene.json("log cloud")["versions"] as? [[String: Any]])
        #expect(versions.map { $0["hash"] as? String } == [try sha256(scene, 2), try sha256(scene, 1)])
    }

    private func sha256(_ scene: Scene, _ version: Int) throws -> String {
        String(try ProgramRun("sha256sum", [scene.scratch.path("\(Scene.zone)/commits/0000000000000000000\(version).json")]).text.prefix(64))
    }

    @Test(arguments: ["notifications.json.gz", "notifications-two-members.json.gz"])
    func containersOfAnotherProgramAreImported(file: String) throws {
        let scene = try scene("foreign-1")
        try scene.succeed("generate any.db --notifications 0 --buckets 0")
        #expect(
            try scene.json("import any.db --file \(file)")["warnings"] as? [String] == [
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
}
