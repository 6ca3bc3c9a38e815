import CloudStore
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine

/// Parents that are still needed stay or come back; new rows that do not fit are held and come back later; no import is wedged.
@Suite struct NeededParentTests {
    private func pair(
        _ sql: String = DeviceScene.bucket("b") + DeviceScene.bucket("c") + DeviceScene.notification("n", in: "b"), role: SyncRole = .peer,
        changesOnly: Bool = false
    ) async throws -> DeviceScene {
        let scene = try await DeviceScene(changesOnly: changesOnly)
        try await scene.publish("one", .peer, sql)
        try await scene.join("two", role)
        return scene
    }

    @Test(arguments: [SyncRole.reader, .peer], [false, true]) func aDeletedParentThatAChildMadeHereNeedsIsRestored(role: SyncRole, changesOnly: Bool)
        async throws
    {
        let scene = try await pair(role: role, changesOnly: changesOnly)
        try scene.run("two", DeviceScene.notification("mine", in: "b", "offline"))
        try scene.run("one", "DELETE FROM notifications; DELETE FROM buckets WHERE id = 'b'")
        try await scene.export("one")
        let report = try await scene.importNewest("two")
        #expect(report.warnings.contains { $0.hasPrefix("buckets: 1 entity restored") })
        #expect(
            try scene.run("two", "SELECT id, isOrphan FROM buckets ORDER BY id; SELECT id FROM notifications; PRAGMA foreign_key_check") == "b|1\nc|\nmine\n")
        #expect(try await scene.verify("two").isEmpty)
        // At a reader it is an overlay that stays; a publisher tells the others.
        try await scene.importNewest("two")
        #expect(try scene.run("two", "SELECT count(*) FROM buckets") == "2\n")
        guard role.publishes else { return }
        try await scene.export("two")
        try await scene.importNewest("one")
        #expect(try scene.run("one", "SELECT id, isOrphan FROM buckets ORDER BY id; SELECT id FROM notifications") == "b|1\nc|\nmine\n")
    }

    /// The application may delete the parent after the import has begun, too, when it has opened the first asset.
    @Test(arguments: [false, true], [false, true]) func aParentThatWasDeletedHereStaysForTheVersionsNewChild(changesOnly: Bool, isMeanwhile: Bool)
        async throws
    {
        let scene = try await pair(changesOnly: changesOnly)
        let delete: @Sendable () throws -> Void = { try scene.run("two", "DELETE FROM notifications; DELETE FROM buckets WHERE id = 'b'") }
        if !isMeanwhile { try delete() }
        try scene.run("one", DeviceScene.notification("new", in: "b"))
        try await scene.export("one")
        try await scene.importNewest("two", through: isMeanwhile ? FaultyCloudDatabase(wrapping: scene.cloud, .atOpenAsset(delete)) : nil)
        #expect(try scene.run("two", "SELECT key, reason FROM snapsync_conflicts WHERE dataset = 'buckets'") == "b|parentNeeded\n")
        #expect(
            try scene.run("two", "SELECT id, isOrphan FROM buckets ORDER BY id; SELECT id FROM notifications; PRAGMA foreign_key_check") == "b|1\nc|\nnew\n")
        #expect(try await scene.verify("two").isEmpty)
        try await scene.export("two")
        try await scene.importNewest("one")
        #expect(try scene.run("one", "SELECT id FROM buckets ORDER BY id; SELECT id FROM notifications") == "b\nc\nnew\n")
    }

    /// The mark of a deletion that is not made, and that the clock noted while it ran ahead, is no later than the clock once that is right, so that
    /// an edit made after that wins.
    @Test(arguments: [false, true]) func aParentThatStayedAheadOfTheClockIsCorrected(changesOnly: Bool) async throws {
        let scene = try await pair(changesOnly: changesOnly)
        try scene.run(
            "two", "DELETE FROM notifications; DELETE FROM buckets WHERE id = 'b'; UPDATE snapsync_log SET clock = clock + 36000000 WHERE dataset > 0")
        try scene.run("one", DeviceScene.notification("new", in: "b"))
        try await scene.export("one")
        scene.clock.move(bySeconds: 36_000)
        try await scene.importNewest("two")
        scene.clock.move(bySeconds: -36_000)
        try await scene.importNewest("two")
        let now = scene.clock.now().microseconds
        let at = try #require(Int64(scene.run("two", "SELECT at FROM snapsync_changes WHERE key = 'b'").replacing("\n", with: "")))
        #expect(at <= now)
        scene.clock.move(bySeconds: 2)
        try scene.run("one", "UPDATE buckets SET name = 'later' WHERE id = 'b'; UPDATE snapsync_log SET clock = \(now / 1000 + 1000) WHERE dataset > 0")
        try await scene.export("one")
        for name in ["two", "one", "two"] { _ = try await scene.engine(name).sync() }
        for name in ["one", "two"] {
            #expect(try scene.run(name, "SELECT name, isOrphan FROM buckets WHERE id = 'b'; SELECT id FROM notifications") == "later|1\nnew\n")
            #expect(try await scene.verify(name).isEmpty)
        }
    }

    @Test func whatDangledBeforeDanglesOnAndStopsNoImport() async throws {
        let scene = try await pair()
        try scene.run("two", DeviceScene.notification("lost", in: "nowhere"))
        try scene.run("one", DeviceScene.notification("more", in: "c"))
        try await scene.export("one")
        #expect(try await scene.importNewest("two").warnings.isEmpty)
        #expect(try scene.run("two", "SELECT id FROM notifications ORDER BY id") == "lost\nmore\nn\n")
    }

    @Test func parentsOfParentsAreRestoredToo() async throws {
        let groups = try DatasetSchema(name: "groups", table: "groups", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text)])
        func child(_ name: String) throws -> DatasetSchema {
            try DatasetSchema(name: name, table: name, keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text), DatasetColumn("up", .text)])
        }
        let scene = try await DeviceScene([groups, child("teams"), child("people")])
        let tables = """
            CREATE TABLE groups(id TEXT PRIMARY KEY); CREATE TABLE teams(id TEXT PRIMARY KEY, up TEXT NOT NULL REFERENCES groups(id));
            CREATE TABLE people(id TEXT PRIMARY KEY, up TEXT NOT NULL REFERENCES teams(id) ON DELETE CASCADE);
            """
        try await scene.publish(
            "one", .peer, tables + "INSERT INTO groups VALUES('g'); INSERT INTO teams VALUES('t', 'g'); INSERT INTO people VALUES('p', 't')")
        try await scene.join("two", .reader, tables)
        try scene.run("two", "INSERT INTO people VALUES('new', 't'), ('newer', 't')")
        try scene.run("one", "DELETE FROM people; DELETE FROM teams; DELETE FROM groups")
        try await scene.export("one")
        try await scene.importNewest("two")
        #expect(try scene.run("two", "SELECT * FROM groups; SELECT * FROM teams; SELECT * FROM people; PRAGMA foreign_key_check") == "g\nt|g\nnew|t\nnewer|t\n")
        #expect(try await scene.verify("two").isEmpty)
    }

    @Test func aChildWhoseParentIsNotKnownIsHeldAndComesBackWithIt() async throws {
        let kinds = try DatasetSchema(
            name: "kinds", table: "kinds", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .integer), DatasetColumn("code", .text)])
        let items = try DatasetSchema(
            name: "items", table: "items", keys: ["id"], timestamp: nil, columns: [DatasetColumn("id", .text), DatasetColumn("kind", .text)])
        let scene = try await DeviceScene([kinds, items])
        let tables =
            "CREATE TABLE kinds(id INTEGER PRIMARY KEY, code TEXT NOT NULL UNIQUE); CREATE TABLE items(id TEXT PRIMARY KEY, kind TEXT NOT NULL REFERENCES kinds(code));"
        try await scene.publish("one", .peer, tables + "INSERT INTO kinds VALUES(1, 'old'); INSERT INTO items VALUES('a', 'old')")
        try await scene.join("two", .reader, tables)
        // The parent is still there, under another code: no row of it can be brought back.
        try scene.run("two", "INSERT INTO items VALUES('mine', 'old')")
        try scene.run("one", "UPDATE kinds SET code = 'new'; UPDATE items SET kind = 'new'")
        try await scene.export("one")
        let report = try await scene.importNewest("two")
        #expect(report.warnings.contains { $0.hasPrefix("items: 1 entity held") && $0.contains("\"mine\"") })
        #expect(try scene.run("two", "SELECT * FROM items; PRAGMA foreign_key_check") == "a|new\n")
        #expect(try await scene.verify("two").isEmpty)
        // The parent arrives later.
        try scene.run("one", "INSERT INTO kinds VALUES(2, 'old')")
        try await scene.export("one")
        #expect(try await scene.importNewest("two").warnings.contains { $0.hasPrefix("items: 1 entity held before, shown again") })
        #expect(try scene.run("two", "SELECT * FROM items ORDER BY id; SELECT key FROM snapsync_changes") == "a|new\nmine|old\nmine\n")
        #expect(try await scene.verify("two").isEmpty)
    }
}
