import Foundation
import TestSupport
import Testing

/// A file of which only a beginning is there is waited for while it is young, and is damage once it is old.
@Suite(.runsPrograms) struct ArrivingFileTests {
    private static let waits = "still arriving"

    /// Cuts a file in half, as a transport that writes in place leaves it for a while. Returns what it held.
    private func cut(_ file: String, in scene: Scene, to share: Double = 0.5) throws -> Data {
        let url = URL(fileURLWithPath: scene.scratch.path(file))
        let whole = try Data(contentsOf: url)
        try whole.prefix(Int(Double(whole.count) * share)).write(to: url)
        return whole
    }

    /// The file that a kind's name stands for, in a zone with two versions of which the reader has the first.
    private func file(_ kind: String, in scene: Scene) throws -> String {
        switch kind {
        case "cloud.json": "cloud/cloud.json"
        case "zone.json": "\(Scene.zone)/zone.json"
        case "commit": try scene.newest("commits")
        case "asset": try scene.asset("notifications")
        default: try scene.newest("assets/notifications_data", ".index.json")
        }
    }

    @Test(arguments: ["cloud.json", "zone.json", "commit", "asset", "index"], Sample.of([0.5, 0, 0.99], oneIn: 3))
    func beginningOfAFileIsWaitedForWhileItIsYoung(kind: String, share: Double) throws {
        let scene = try Scene.phoneAndWatch()
        let before = try scene.contents("watch.db")
        // Most rows change, so that the reader needs the snapshot asset and its index.
        try scene.database("phone.db").run(
            "DELETE FROM notifications WHERE id IN (SELECT id FROM notifications LIMIT 9); UPDATE notifications SET title = 'new', updatedAt = '2026-02-01T00:00:00Z'"
        )
        try scene.succeed("export phone.db --full")
        try scene.succeed("join new.db cloud --name new")
        let file = try file(kind, in: scene)
        let whole = try cut(file, in: scene, to: share)
        for database in ["watch.db", "new.db"] {
            let young = try scene.run("import \(database)")
            // A reader that goes on from version 1 reads the change asset alone.
            if database == "watch.db", young.status == 0 {
                #expect(["asset", "index"].contains(kind))
                continue
            }
            #expect(young.status == 75 && young.errorText.contains(Self.waits), "\(database): \(young.status) \(young.errorText)")
        }
        let doctor = try scene.run("check new.db")
        #expect(doctor.status == 75 && doctor.text.contains(Self.waits), "\(doctor.status) \(doctor.text)")
        let verify = try scene.run("check cloud --read-data --zone ZentikSyncZone")
        #expect(verify.status == 75 && (verify.text + verify.errorText).contains(Self.waits), "\(verify.status) \(verify.text)\(verify.errorText)")

        try scene.scratch.age(file, minutes: 11)
        let old = try scene.run("import new.db")
        #expect(old.status == 65 && !old.errorText.contains(Self.waits), "\(old.status) \(old.errorText)")
        #expect(try scene.run("check cloud --read-data --zone ZentikSyncZone").status == 65)
        if try scene.run("import watch.db").status == 65 { #expect(try scene.contents("watch.db") == before) }

        try whole.write(to: URL(fileURLWithPath: scene.scratch.path(file)))
        for database in ["watch.db", "new.db"] {
            try scene.succeed("import \(database)")
            #expect(try scene.contents(database) == scene.contents("phone.db"))
        }
    }

    @Test func checkpointIsWaitedFor() throws {
        let scene = try Scene.phone(notifications: 3, buckets: 1)
        for number in 2...18 {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'name \(number)'")
            try scene.succeed("export phone.db")
        }
        try scene.succeed("join new.db cloud --name new")
        let file = try scene.newest("checkpoints")
        let whole = try cut(file, in: scene)
        // What a new device takes over is read from there.
        #expect(try scene.run("join later.db cloud").status == 75)
        let young = try scene.run("import new.db")
        #expect(young.status == 75 && young.errorText.contains(Self.waits), "\(young.errorText)")
        try scene.scratch.age(file, minutes: 11)
        #expect(try scene.run("import new.db").status == 65)
        try whole.write(to: URL(fileURLWithPath: scene.scratch.path(file)))
        try scene.succeed("import new.db")
    }

    @Test func messageIsWaitedForAndThenApplied() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run(
            "UPDATE notifications SET readAt = '2026-02-01T00:00:00Z' WHERE id = (SELECT min(id) FROM notifications WHERE readAt IS NULL)")
        try scene.sync("watch")
        let file = try scene.newest("messages/watch")
        let whole = try cut(file, in: scene)
        let young = try scene.run("sync phone.db")
        #expect(young.status == 0 && !young.text.contains("set aside") && !young.errorText.contains("set aside"), "\(young.text)\(young.errorText)")
        try scene.scratch.age(file, minutes: 11)
        let old = try scene.run("sync phone.db")
        #expect((old.text + old.errorText).contains("set aside"), "\(old.text)\(old.errorText)")
        try whole.write(to: URL(fileURLWithPath: scene.scratch.path(file)))
        _ = try scene.run("sync phone.db")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-02-01T00:00:00Z'") == "1\n")
    }

    /// A clock that is wrong makes no damaged file young for ever.
    @Test func timeInTheFutureIsNoLongerYoung() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run("UPDATE buckets SET name = 'new'")
        try scene.succeed("export phone.db")
        let file = try scene.newest("commits")
        _ = try cut(file, in: scene)
        try scene.scratch.age(file, minutes: -60)
        #expect(try scene.run("import watch.db").status == 65)
        try scene.scratch.age(file, minutes: -5)
        #expect(try scene.run("import watch.db").status == 75)
    }
}
