import Foundation
import TestSupport
import Testing

/// `check --restore` restores a version on trial, and says in what the two differ.
@Suite(.runsPrograms) struct RestoreCheckTests {
    /// A folder for temporary files of the scene's own.
    private func folder(_ scene: Scene) throws -> [String: String] {
        try FileManager.default.createDirectory(atPath: scene.scratch.path("temporary"), withIntermediateDirectories: true)
        return ["TMPDIR": scene.scratch.path("temporary")]
    }

    @Test func soundVersionsAreRestoredAndNothingIsLeftBehind() throws {
        let scene = try Scene.phoneAndWatch(notifications: 300, buckets: 4)
        try scene.publishMore(2)
        let environment = try folder(scene), cloud = try scene.cloudListing(), rows = try scene.contents("phone.db")
        let text = try scene.succeed("check phone.db --restore", environment: environment)
        #expect(text.hasPrefix("version 3 was restored into a temporary database, compared and removed\n") && text.hasSuffix("all is well\n"), "\(text)")
        #expect(text.contains("  buckets: 4 entities, all as in the version\n") && text.contains("  notifications: 300 entities, all as in the version\n"))
        #expect(try scene.succeed("check cloud --restore --at 1", environment: environment).contains("version 1 was restored"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("temporary")) == [])
        #expect(try scene.cloudListing() == cloud && scene.contents("phone.db") == rows)
        // The database remembers; a cloud alone has nobody who could.
        let check = try #require(try scene.json("status phone.db")["lastRestoreCheck"] as? [String: Any])
        #expect(check["version"] as? Int == 3 && check["problems"] as? Int == 0)
        #expect(try scene.succeed("status phone.db").contains("\n  last trial restore: version 3 at "))
        #expect(try scene.page("phone.db").words().contains("last trial restore: version 3 at "))
        #expect(try scene.json("status watch.db")["lastRestoreCheck"] == nil)
        try scene.refuse("check phone.db --restore --at 9", exit: 66, saying: ["9"], watching: ["phone.db"])
    }

    @Test func tablesOfAnApplicationAreMadeFromTheZone() throws {
        let scene = try Scene()
        try scene.database("shop.db").run(
            """
            CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE child(a TEXT NOT NULL COLLATE NOCASE, b REAL NOT NULL, parent INTEGER REFERENCES parent(id), data BLOB, PRIMARY KEY(a, b)) WITHOUT ROWID;
            INSERT INTO parent VALUES(1, 'one'), (2, NULL), (-3, '');
            INSERT INTO child VALUES('x', 0.5, 1, x'00ff'), ('X2', -1e300, NULL, NULL), ('y', 3, 99, zeroblob(5000));
            """)
        try scene.succeed("init shop.db cloud --name shop")
        try scene.sync("shop")
        let report = try scene.json("check cloud --restore")
        let datasets = try #require(report["datasets"] as? [[String: Any]])
        #expect(datasets.compactMap { $0["restoredCount"] as? Int } == [3, 3] && datasets.allSatisfy { $0["differences"] as? Int == 0 })
        #expect((report["problems"] as? [Any])?.isEmpty == true)
        // A reference to a row that nobody has was published so; it is named, and is no damage.
        #expect((report["warnings"] as? [String])?.contains { $0.contains("table child: 1 row refers to a row of parent that is not there") } == true)
        // What was restored is what the application wrote, by another program: the same rows as in a reader's database.
        try scene.succeed("join copy.db cloud --name copy")
        try scene.sync("copy")
        for table in ["parent", "child"] {
            let rows = "SELECT * FROM \(table) ORDER BY 1, 2"
            #expect(try scene.database("copy.db").run(rows) == scene.database("shop.db").run(rows))
        }
    }

    @Test func damageEndsWith65AndIsNamed() throws {
        let scene = try Scene.phone(notifications: 200, buckets: 3)
        let environment = try folder(scene), asset = try scene.asset("notifications")
        var bytes = try scene.scratch.read(asset)
        bytes[bytes.count / 2] ^= 0x10
        try scene.scratch.write(bytes, to: asset)
        let run = try scene.run("check phone.db --restore --json", environment: environment)
        let report = try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any])
        #expect(run.status == 65 && (report["problems"] as? [String])?.first?.hasPrefix("notifications: ") == true, "\(report)")
        let datasets = try #require(report["datasets"] as? [[String: Any]])
        #expect(datasets.first { $0["name"] as? String == "buckets" }?["differences"] as? Int == 0)
        #expect(datasets.first { $0["name"] as? String == "notifications" }?["restoredCount"] == nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("temporary")) == [])
        #expect((try scene.json("status phone.db")["lastRestoreCheck"] as? [String: Any])?["problems"] as? Int == 1)
        #expect(try scene.succeed("status phone.db").contains("1 problem found"))
    }

    @Test func commitThatCountsWrongIsFound() throws {
        let scene = try Scene.phone(notifications: 20, buckets: 3)
        try CloudForgery.rewriteCommit(
            scene.scratch.path(try scene.newest("commits")),
            "[r for r in commit['saved'] if r['name'] == 'buckets_data'][0]['fields']['recordCount']['value'] = 4")
        let run = try scene.run("check cloud --restore")
        #expect(run.status == 65 && run.text.contains("problem: buckets: ") && run.text.contains("notifications: 20 entities, all as in"), "\(run.text)")
    }
}
