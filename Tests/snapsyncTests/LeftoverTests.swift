import Foundation
import TestSupport
import Testing

/// What runs that were killed, or could not do all of their work, leave: it is swept, or told.
@Suite(.runsPrograms) struct LeftoverTests {
    private static let temporary = ".snapsync-0123456789abcdef0123456789abcdef.tmp"

    /// A run may be killed while it finds out how files are put in place, and that is in whatever folder it writes to first.
    @Test func pruneSweepsOldTemporariesInEveryFolder() throws {
        let scene = try Scene.phoneAndWatch()
        let inZone = ["", "commits/", "checkpoints/", "assets/buckets_data/", "devices/phone/", "devices/watch/", "messages/watch/"].map {
            "\($0)\(Self.temporary)"
        }
        try FileManager.default.createDirectory(atPath: scene.scratch.path("\(Scene.zone)/messages/watch"), withIntermediateDirectories: true)
        let above = ["cloud/\(Self.temporary)", "cloud/private/\(Self.temporary)"]
        let foreign = ["cloud/.stfolder", "\(Scene.zone)/devices/watch/.snapsync-notes.tmp"]
        let temporaries = inZone.map { "\(Scene.zone)/\($0)" } + above
        for path in temporaries + foreign { try scene.scratch.write("", to: path) }

        try scene.succeed("prune phone.db --keep-last 9")
        #expect(temporaries.allSatisfy { FileManager.default.fileExists(atPath: scene.scratch.path($0)) }, "younger than a day: its run may be at work")
        try scene.age()
        let planned = try #require(try scene.json("prune phone.db --keep-last 9 -n")["removedFiles"] as? [String])
        #expect(planned.sorted() == inZone.sorted())
        try scene.succeed("prune phone.db --keep-last 9")
        #expect(temporaries.allSatisfy { !FileManager.default.fileExists(atPath: scene.scratch.path($0)) })
        #expect(foreign.allSatisfy { FileManager.default.fileExists(atPath: scene.scratch.path($0)) })
        #expect(try scene.succeed("check cloud --all-versions").hasSuffix("all is well\n"))
    }

    /// A reader removes its message once a version has decided its edits. One that a sync tool brings back changes nothing, and the reader's next
    /// message takes its place.
    @Test func aDecidedMessageThatIsBroughtBackIsReplacedByTheNextOne() throws {
        let scene = try Scene.phoneAndWatch()
        let mark = "UPDATE notifications SET readAt = '2026-01-01T00:00:00Z' WHERE id = (SELECT min(id) FROM notifications)"
        try scene.database("watch.db").run(mark)
        try scene.sync("watch")
        let message = scene.scratch.path(try scene.newest("messages/watch"))
        try FileManager.default.copyItem(atPath: message, toPath: scene.scratch.path("kept"))
        try scene.sync("phone", "watch")
        #expect(!FileManager.default.fileExists(atPath: message))
        try FileManager.default.moveItem(atPath: scene.scratch.path("kept"), toPath: message)
        #expect(try scene.succeed("sync phone.db") == "nothing new since version 2; nothing was written\n")
        try scene.database("watch.db").run(mark.replacing("min(id)", with: "max(id)"))
        try scene.sync("watch")
        #expect(!FileManager.default.fileExists(atPath: message))
        #expect(try scene.files("messages/watch").count == 1)
        try scene.sync("phone", "watch")
        #expect(try scene.files("messages/watch") == [])
        #expect(try scene.value("SELECT count(*) FROM notifications WHERE readAt = '2026-01-01T00:00:00Z'", in: "phone.db") == "2")
    }

    /// Between the zone and the settings `init` may be killed: the next one must know that the zone it finds is the database's own, and
    /// must not think so of any other.
    @Test(arguments: [(nil, 78), ("phone", 0), ("tablet", 78)] as [(String?, Int32)])
    func anInitThatEndedAfterItMadeTheZoneIsTakenUp(noted: String?, status: Int32) throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 6 --buckets 2")
        try scene.succeed("generate other.db --notifications 6 --buckets 2")
        let made = try scene.json("init other.db cloud --built-in --name phone")
        if let noted {
            let cloud = try #require(made["cloudUUID"] as? String)
            try scene.database("phone.db").run(
                """
                CREATE TABLE snapsync_beginning(cloud TEXT NOT NULL, zone TEXT NOT NULL, device TEXT NOT NULL);
                INSERT INTO snapsync_beginning VALUES('\(cloud)', 'ZentikSyncZone', '\(noted)');
                """)
        }
        try scene.succeed("init phone.db cloud --built-in --name phone")
        #expect(try scene.value("SELECT count(*) FROM sqlite_master WHERE name = 'snapsync_beginning'", in: "phone.db") == "0")
        let run = try scene.run("sync phone.db")
        #expect(run.status == status, "\(run.errorText)")
    }

    /// A message that cannot be read stops nothing, so a quiet run ends well and leaves it where it is; but not without a word.
    @Test func aQuietSyncStillTellsWhatItLeftUndone() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE buckets SET color = '#010203' WHERE id = (SELECT min(id) FROM buckets)")
        try scene.succeed("sync watch.db --quiet")
        let message = scene.scratch.path(try scene.newest("messages/watch"))
        try FileManager.default.moveItem(atPath: message, toPath: message + "-away")
        try FileManager.default.createDirectory(atPath: message, withIntermediateDirectories: false)
        let run = try scene.run("sync phone.db --quiet")
        #expect(run.status == 0 && run.text == "")
        #expect(run.errorText == "snapsync: warning: 2 messages in the mailbox were set aside; snapsync pending phone.db says why\n", "\(run.errorText)")

        try FileManager.default.removeItem(atPath: message)
        try FileManager.default.moveItem(atPath: message + "-away", toPath: message)
        try scene.succeed("sync phone.db --quiet")
        #expect(try scene.contents("phone.db") == scene.contents("watch.db"))
    }
}
