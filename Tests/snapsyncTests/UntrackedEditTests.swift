import Foundation
import TestSupport
import Testing

/// What was edited here while nothing tracked it is kept, or it is told that it gave way.
@Suite(.runsPrograms) struct UntrackedEditTests {
    private static let recipes = """
        CREATE TABLE recipes(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, minutes INTEGER, updated TEXT NOT NULL);
        INSERT INTO recipes VALUES('r1', 'Soup', 30, '2026-01-01T00:00:00Z'), ('r2', 'Bread', 90, '2026-01-01T00:00:00Z');
        """
    /// A migration that rebuilds the table, and an edit before the next run.
    private static let rebuild = """
        CREATE TABLE new(id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, minutes INTEGER, updated TEXT NOT NULL);
        INSERT INTO new SELECT * FROM recipes; DROP TABLE recipes; ALTER TABLE new RENAME TO recipes;
        UPDATE recipes SET minutes = 45, updated = '2026-03-01T00:00:00Z' WHERE id = 'r1';
        """

    private func kitchen(_ options: String = "--reader-edits all") throws -> Scene {
        try Scene.copy(of: "recipes \(options)") { scene in
            try scene.database("desk.db").run(Self.recipes)
            try scene.succeed("init desk.db cloud --name desk \(options)")
            try scene.sync("desk")
            try scene.succeed("join phone.db cloud --name phone")
            try scene.sync("phone")
        }
    }

    @Test func editsThatNobodyTrackedTravel() throws {
        let scene = try kitchen()
        try scene.database("desk.db").run("UPDATE recipes SET name = 'Rye bread', updated = '2026-02-01T00:00:00Z' WHERE id = 'r2'")
        try scene.sync("desk")
        try scene.database("phone.db").run(Self.rebuild)
        try scene.sync("phone", "desk", "phone")
        for name in ["phone", "desk"] {
            #expect(try scene.database("\(name).db").run("SELECT name, minutes FROM recipes ORDER BY id") == "Soup|45\nRye bread|90\n")
        }
    }

    /// An import of a whole snapshot would replace a row that was inserted while the triggers were off.
    @Test func aRowThatNobodyTrackedOutlivesAFullVersion() throws {
        let scene = try kitchen()
        try scene.database("phone.db").run(".dbconfig enable_trigger off\nINSERT INTO recipes VALUES('r3', 'Cake', 60, '2026-02-01T00:00:00Z');")
        try scene.database("desk.db").run("UPDATE recipes SET minutes = 40 WHERE id = 'r1'")
        try scene.succeed("export desk.db --full")
        try scene.sync("phone", "desk")
        for name in ["phone", "desk"] { #expect(try scene.value("SELECT name FROM recipes WHERE id = 'r3'", in: "\(name).db") == "Cake") }
    }

    /// They are compared with the newest version, and each row's timestamp decides.
    @Test func aPeersUntrackedEditsOutliveTheVersionThatTheyWereMadeOn() throws {
        let scene = try kitchen("--peers")
        try scene.succeed("join till.db cloud --name till --peer")
        try scene.sync("till")
        try scene.database("till.db").run(Self.rebuild)
        for minutes in [50, 60] {
            try scene.database("desk.db").run("UPDATE recipes SET minutes = \(minutes), updated = '2026-02-01T00:00:00Z' WHERE id = 'r2'")
            try scene.sync("desk")
        }
        try scene.age()
        try scene.succeed("prune desk.db --keep-last 1")
        try scene.sync("till", "desk")
        for name in ["till", "desk"] {
            #expect(try scene.database("\(name).db").run("SELECT name, minutes FROM recipes ORDER BY id") == "Soup|45\nBread|60\n")
        }
    }

    /// A column that the reader's table had first: where the zone has a value by now, the reader's goes to the journal, and can be restored.
    @Test func valuesOfAColumnThatTheZoneGetsLaterAreTold() throws {
        let scene = try kitchen()
        try scene.database("phone.db").run(
            "ALTER TABLE recipes ADD COLUMN stars INTEGER; UPDATE recipes SET stars = 5 WHERE id = 'r1'; UPDATE recipes SET stars = 3 WHERE id = 'r2'")
        try scene.sync("phone")
        try scene.database("desk.db").run("ALTER TABLE recipes ADD COLUMN stars INTEGER; UPDATE recipes SET stars = 1 WHERE id = 'r1'")
        try scene.succeed("tables adopt desk.db --create")
        try scene.sync("desk")
        let text = try scene.succeed("sync phone.db")
        #expect(text.contains("1 edit lost to a later one"), "\(text)")
        #expect(try scene.database("phone.db").run("SELECT id, stars FROM recipes ORDER BY id") == "r1|1\nr2|3\n")
        let conflicts = try scene.succeed("conflicts phone.db")
        #expect(conflicts.contains("stars: 5 lost, 1 was kept"), "\(conflicts)")
        try scene.succeed("conflicts take phone.db 1")
        try scene.sync("phone", "desk")
        #expect(try scene.value("SELECT stars FROM recipes WHERE id = 'r1'", in: "desk.db") == "5")
    }

    /// A column that the zone had first: the reader's table gets it later, with values. Those where the version has none are edits.
    @Test func valuesOfAColumnThatTheTableGetsLaterAreEdits() throws {
        let scene = try kitchen()
        try scene.database("desk.db").run("ALTER TABLE recipes ADD COLUMN stars INTEGER; UPDATE recipes SET stars = 1 WHERE id = 'r1'")
        try scene.sync("desk", "phone")
        try scene.database("phone.db").run(
            "ALTER TABLE recipes ADD COLUMN stars INTEGER; UPDATE recipes SET stars = 5 WHERE id = 'r1'; UPDATE recipes SET stars = 3 WHERE id = 'r2'")
        let text = try scene.succeed("sync phone.db")
        #expect(text.contains("1 edit lost to a later one"), "\(text)")
        #expect(try scene.database("phone.db").run("SELECT id, stars FROM recipes ORDER BY id") == "r1|1\nr2|3\n")
        #expect(try scene.succeed("conflicts phone.db").contains("stars: 5 lost, 1 was kept"))
        try scene.sync("desk", "phone")
        for name in ["desk", "phone"] {
            #expect(try scene.database("\(name).db").run("SELECT id, stars FROM recipes ORDER BY id") == "r1|1\nr2|3\n", "\(name)")
        }
    }

    // MARK: Each run compares the tables and triggers with the descriptions

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
