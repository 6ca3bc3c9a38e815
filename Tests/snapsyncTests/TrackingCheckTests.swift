import Foundation
import TestSupport
import Testing

/// The tables and triggers are compared with the descriptions once; a stamp in the database says so (`trackingChecked`).
@Suite(.runsPrograms) struct TrackingCheckTests {
    private func stamp(_ scene: Scene) throws -> String {
        try scene.database("phone.db").run("SELECT value FROM snapsync_state WHERE key = 'trackingChecked'")
    }

    private func publish(_ scene: Scene, _ name: String) throws {
        try scene.database("phone.db").run("UPDATE buckets SET name = '\(name)'")
        try scene.succeed("export --db phone.db")
    }

    @Test func stampFollowsEveryDeclarationAndSetting() throws {
        let scene = try Scene.phone()
        try publish(scene, "one")
        let first = try stamp(scene)
        #expect(!first.isEmpty)
        try publish(scene, "two")
        #expect(try stamp(scene) == first)
        var seen: Set = [first]
        for change in [
            "ALTER TABLE notifications ADD COLUMN note TEXT", "CREATE INDEX by_note ON notifications(note)",
            "CREATE VIEW titles AS SELECT title FROM notifications",
            "CREATE TRIGGER application AFTER INSERT ON buckets BEGIN SELECT 1; END", "UPDATE snapsync_settings SET value = '1' WHERE key = 'adoptsOwnRows'",
        ] {
            try scene.database("phone.db").run(change)
            try publish(scene, change.filter(\.isLetter))
            #expect(try seen.insert(stamp(scene)).inserted, "\(change)")
        }
    }

    /// A stamp that still fits must not hide that a trigger is gone, changed, or there for another dataset.
    @Test(arguments: [
        "DROP TRIGGER %", "DROP TRIGGER %; CREATE TRIGGER % AFTER UPDATE ON buckets BEGIN SELECT 1; END", "UPDATE snapsync_tracking SET id = id + 100",
    ])
    func damagedTrackingIsNoticed(_ damage: String) throws {
        let scene = try Scene.phone()
        try publish(scene, "one")
        let app = scene.database("phone.db")
        let trigger = try app.run("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'buckets' AND name LIKE 'snapsync%' LIMIT 1")
        try app.run(damage.replacing("%", with: trigger.trimmingCharacters(in: .newlines)))
        #expect(try scene.succeed("sync --db phone.db").contains("the tracking of buckets was not as it should be"))
        try scene.succeed("verify --local --db phone.db")
    }

    /// VACUUM gives rows of a table without a key other numbers and changes no declaration, so such a table has no stamp.
    @Test func tableWithoutAKeyIsComparedAtEveryRun() throws {
        let scene = try Scene()
        try scene.scratch.write(
            #"{"formatVersion": 1, "datasets": [{"name": "log", "key": "number", "columns": [{"name": "number", "type": "integer", "column": "rowid"}]}]}"#,
            to: "d.json")
        try scene.database("phone.db").run("CREATE TABLE log(line TEXT); INSERT INTO log VALUES('one')")
        try scene.succeed("init --db phone.db --cloud cloud --role writer --device phone --datasets d.json")
        for _ in 1...2 {
            try scene.database("phone.db").run("INSERT INTO log VALUES('more')")
            try scene.succeed("export --db phone.db")
            #expect(try stamp(scene) == "")
        }
    }
}
