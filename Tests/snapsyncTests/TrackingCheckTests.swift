import Foundation
import TestSupport
import Testing

/// Each run compares the tables and triggers with the descriptions.
@Suite(.runsPrograms) struct TrackingCheckTests {
    private func publish(_ scene: Scene, _ name: String) throws {
        try scene.database("phone.db").run("UPDATE buckets SET name = '\(name)'")
        try scene.succeed("export phone.db")
    }

    @Test(arguments: [
        "DROP TRIGGER %", "DROP TRIGGER %; CREATE TRIGGER % AFTER UPDATE ON buckets BEGIN SELECT 1; END", "UPDATE snapsync_tracking SET id = id + 100",
    ])
    func damagedTrackingIsNoticed(_ damage: String) throws {
        let scene = try Scene.phone()
        try publish(scene, "one")
        let app = scene.database("phone.db")
        let trigger = try app.run("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'buckets' AND name LIKE 'snapsync%' LIMIT 1")
        try app.run(damage.replacing("%", with: trigger.trimmingCharacters(in: .newlines)))
        #expect(try scene.succeed("sync phone.db").contains("the tracking of buckets was not as it should be"))
        try scene.succeed("check phone.db --local")
    }
}
