import Foundation
import TestSupport
import Testing

/// A database that was detached is the same device again at its next `init`; a copy of it is not.
@Suite(.runsPrograms) struct DetachedDeviceTests {
    /// A writer and a reader `watch.db` under a name that `init` made; both have version 1.
    private func scene() throws -> (Scene, device: String) {
        let scene = try Scene.phone()
        try scene.sync("phone")
        let device = try #require(try scene.json("join watch.db cloud")["device"] as? String)
        try scene.sync("watch")
        return (scene, device)
    }

    private func names(_ scene: Scene) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("cloud/private/ZentikSyncZone/devices")).sorted()
    }

    @Test func initFindsTheNameAgain() throws {
        let (scene, device) = try scene()
        let before = try names(scene)
        let report = try scene.json("detach watch.db")
        #expect(report["device"] as? String == device)
        #expect(scene.scratch.exists("watch.db.snapsync-device"))
        // Moving the file within its file system makes no copy.
        try FileManager.default.moveItem(atPath: scene.scratch.path("watch.db"), toPath: scene.scratch.path("moved.db"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("watch.db.snapsync-device"), toPath: scene.scratch.path("moved.db.snapsync-device"))
        let again = try scene.succeed("join moved.db cloud --keep-local")
        #expect(again.contains("  device \(device) again, as before detach, datasets"))
        #expect(!scene.scratch.exists("moved.db.snapsync-device"))
        #expect(try !scene.succeed("sync moved.db").contains("warning"))
        #expect(try names(scene) == before)
        // The name needs no --take-over, also where it is given.
        try scene.succeed("detach moved.db")
        let named = try scene.json("join moved.db cloud --keep-local --name \(device)")
        #expect(named["isReturning"] as? Bool == true && named["device"] as? String == device)
        try scene.sync("moved")
        // Nobody else gets it.
        try scene.refuse(
            "join other.db cloud --name \(device)", exit: 78, saying: ["from another database", "--take-over"])
    }

    @Test func theWriterOfAZoneIsItsWriterAgain() throws {
        let (scene, _) = try scene()
        try scene.succeed("detach phone.db")
        #expect(try scene.succeed("init phone.db cloud --built-in").contains("device phone again"))
        try scene.succeed("import phone.db")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'after detach'")
        #expect(try scene.succeed("sync phone.db").contains("published version 2"))
        try scene.sync("watch")
        #expect(try scene.database("watch.db").run("SELECT DISTINCT name FROM buckets") == "after detach\n")
    }

    @Test func aCopyIsAnotherDevice() throws {
        let (scene, device) = try scene()
        try scene.succeed("detach watch.db")
        try scene.scratch.copy(scene.scratch.path("watch.db"), to: "copy.db")
        try scene.scratch.copy(scene.scratch.path("watch.db.snapsync-device"), to: "copy.db.snapsync-device")
        let copy = try scene.json("join copy.db cloud --keep-local")
        let warnings = try #require(copy["warnings"] as? [String])
        #expect(copy["device"] as? String != device && copy["isReturning"] as? Bool == false)
        #expect(warnings.contains { $0.contains("this file is a copy of the database that was the device \(device) before detach") }, "\(warnings)")
        try scene.sync("copy")
        #expect(try scene.json("join watch.db cloud --keep-local")["device"] as? String == device)
        #expect(try !scene.succeed("sync watch.db").contains("warning"))
        #expect(try names(scene).count == 3)
    }

    /// A copy that took the name over on purpose keeps it: the database that had it is told, and gets another name.
    @Test func aNameThatAnotherDatabaseHasTakenIsGone() throws {
        let (scene, device) = try scene()
        try scene.succeed("detach watch.db")
        try scene.succeed("join other.db cloud --name \(device) --take-over")
        try scene.sync("other")
        try scene.refuse(
            "join watch.db cloud --keep-local --name \(device)", exit: 78, saying: ["from another database", "--take-over"])
        let report = try scene.json("join watch.db cloud --keep-local")
        #expect(report["device"] as? String != device && report["isReturning"] as? Bool == false)
        #expect(
            (report["warnings"] as? [String])?.contains { $0.contains("another database has synced as \(device), which this one was before detach") } == true)
        try scene.sync("watch")
        #expect(try !scene.succeed("sync other.db").contains("warning"))
    }

    @Test func aRowThatNobodyElseHadLeavesNothing() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.database("laptop.db").run(
            """
            INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('passing', 'P', '2024-01-01T00:00:00Z', '2024-01-01T00:00:00Z');
            DELETE FROM buckets WHERE id = 'passing'
            """)
        try scene.succeed("detach laptop.db")
        try scene.database("desk.db").run("UPDATE notifications SET title = 'desk'")
        try scene.sync("desk")
        let again = try scene.succeed("init laptop.db cloud --peers --built-in --name laptop --keep-local")
        #expect(!again.contains("waited since detach"), "\(again)")
        try scene.sync("laptop", "desk")
        #expect(try scene.database("desk.db").run("SELECT key FROM snapsync_tombstones") == "")
        #expect(try scene.contents("laptop.db") == scene.contents("desk.db"))
    }

    @Test func anEditThatLosesAfterDetachIsInTheJournalAlone() throws {
        let scene = try Scene.deskAndLaptop()
        try scene.database("laptop.db").run("UPDATE buckets SET name = 'of the laptop'")
        try scene.succeed("detach laptop.db")
        try scene.database("desk.db").run("UPDATE buckets SET name = 'of the desk'")
        try scene.sync("desk")
        try scene.succeed("init laptop.db cloud --peers --built-in --name laptop --keep-local")
        #expect(try scene.succeed("sync laptop.db").contains("3 edits lost to later ones"))
        #expect(!scene.scratch.exists("laptop.db.snapsync-kept"))
    }

    /// Files that are no notes of a detached device say nothing.
    @Test(arguments: ["", "{", "[]", #"{"device":"../x"}"#])
    func aDamagedNoteIsNoName(text: String) throws {
        let (scene, _) = try scene()
        try scene.scratch.write(text, to: "other.db.snapsync-device")
        #expect(try scene.succeed("join other.db cloud").contains("other.db is a reader"))
        #expect(!scene.scratch.exists("other.db.snapsync-device"))
    }
}
