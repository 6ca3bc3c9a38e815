import Foundation
import TestSupport
import Testing

/// A message's file that a tool removes or cuts before the publisher decides is put back by its author; its effect happens once.
@Suite(.runsPrograms) struct MessageLossTests {
    private static let mark = "UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT"
    private static let marked = "SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'"

    private func folder(_ device: String, _ cloud: String = "cloud") -> String { "\(cloud)/private/ZentikSyncZone/messages/\(device)" }

    /// The names of a device's messages in the mailbox.
    private func names(_ scene: Scene, of device: String = "watch", in cloud: String = "cloud") throws -> [String] {
        let path = scene.scratch.path(folder(device, cloud))
        return FileManager.default.fileExists(atPath: path) ? try FileManager.default.contentsOfDirectory(atPath: path).sorted() : []
    }

    private func remove(_ path: String, _ scene: Scene) throws { try FileManager.default.removeItem(atPath: scene.scratch.path(path)) }

    /// A writer and a reader that has sent so many read marks in one message.
    private func sent(_ count: Int) throws -> Scene {
        try Scene.copy(of: "\(count) edits that were sent", from: .phoneAndWatch()) { scene in
            try scene.database("watch.db").run("\(Self.mark) \(count))")
            try scene.sync("watch")
            #expect(try names(scene).count == 1)
        }
    }

    private func expectSettled(_ scene: Scene, at location: SourceLocation = #_sourceLocation) throws {
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"), sourceLocation: location)
        #expect(try names(scene) == [], sourceLocation: location)
        #expect(try scene.pendingEdits(of: "watch.db") == 0, sourceLocation: location)
        for database in ["watch.db", "phone.db"] { try scene.succeed("check \(database) --local", at: location) }
    }

    @Test(arguments: ["messages/watch", "messages"]) func messageWhoseFileVanishedIsPutBack(_ lost: String) throws {
        let scene = try sent(2)
        let names = try names(scene), bytes = try scene.scratch.read("\(folder("watch"))/\(names[0])")
        try remove("\(Scene.zone)/\(lost)", scene)
        try scene.sync("phone")

        // Looking says that it is gone, and changes nothing.
        #expect(
            try scene.succeed("status watch.db").contains(
                "\n  edits of readers: 2 handed over and not decided yet, their message is missing from the mailbox, and the next sync puts it back\n"))
        #expect((try scene.json("status watch.db")["messages"] as? [String: Int])?["missing"] == 1)
        try scene.expectFinding(
            "warning", "messages", "watch.db", exit: 75, saying: ["the message with this device's edits is not in the mailbox"],
            remedy: "run: snapsync sync watch.db")
        let told = try scene.json("pending watch.db")
        #expect((told["sent"] as? [Any])?.count == 2 && told["isMissing"] as? Bool == true)
        #expect(try self.names(scene) == [])

        let report = try scene.json("sync watch.db")
        #expect((report["messages"] as? [String: Int])?["putBack"] == 1)
        #expect(try self.names(scene) == names && scene.scratch.read("\(folder("watch"))/\(names[0])") == bytes)
        #expect((try scene.json("status watch.db")["messages"] as? [String: Int])?["missing"] == 0)
        let again = try scene.json("sync watch.db")
        #expect((again["messages"] as? [String: Int])?["putBack"] == 0)
        #expect(try scene.succeed("sync phone.db").contains("edits of readers: 2 applied"))
        try scene.sync("watch")
        #expect(try scene.database("phone.db").run(Self.marked) == "2\n")
        try expectSettled(scene)
    }

    @Test(arguments: ["half", "empty", "zeros"]) func fileThatWasCutIsMadeAnew(damage: String) throws {
        let scene = try sent(4)
        let file = "\(folder("watch"))/\(try names(scene)[0])", bytes = try scene.scratch.read(file)
        try scene.scratch.edit(file) { $0 = damage == "half" ? $0.prefix($0.count / 2) : damage == "empty" ? Data() : Data(count: $0.count) }
        #expect(try scene.succeed("sync phone.db").contains("1 message in the mailbox was set aside"))
        #expect(
            try scene.succeed("sync watch.db").hasSuffix("put the message with undecided edits back: it was missing from the mailbox, or damaged there\n"))
        #expect(try scene.scratch.read(file) == bytes)
        try scene.sync("phone", "watch")
        #expect(try scene.database("phone.db").run(Self.marked) == "4\n")
        try expectSettled(scene)
    }

    @Test func whatCannotBePutBackIsSentWithTheNextEdit() throws {
        let scene = try sent(3)
        let name = try names(scene)[0], file = "\(folder("watch"))/\(name)"
        try remove(file, scene)
        try FileManager.default.createDirectory(atPath: scene.scratch.path(file), withIntermediateDirectories: false)
        Scene.checkRefusal(try scene.run("sync watch.db"), exit: 65, saying: [name, "something else than a plain file"])
        try scene.database("watch.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("watch")
        #expect(try names(scene).count == 2)
        try remove(file, scene)
        try scene.sync("phone", "watch")
        #expect(try scene.database("phone.db").run(Self.marked) == "3\n")
        try expectSettled(scene)
    }

    /// A copy beside the reader, or a backup in its place: it sends under another name, and both edits arrive.
    @Test(arguments: ["copy.db", "watch.db"]) func aCopyOfAReaderSendsUnderAnotherName(name: String) throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("watch.db"), to: "backup.db")
        try scene.database("watch.db").run("\(Self.mark) 1)")
        try scene.sync("watch")
        try? FileManager.default.removeItem(atPath: scene.scratch.path(name))
        try scene.scratch.copy(scene.scratch.path("backup.db"), to: name)
        let mark = Self.mark.replacing("ORDER BY id LIMIT", with: "ORDER BY id DESC LIMIT")
        try scene.database(name).run("\(mark) 1)")
        #expect(try scene.succeed("sync \(name)").contains("warning: another database has synced as watch: "))
        for database in ["phone.db", "watch.db", name, "watch.db"] { try scene.succeed("sync \(database)") }
        #expect(try scene.database("phone.db").run(Self.marked) == "2\n")
        #expect(try scene.contents(name) == scene.contents("phone.db"))
        try scene.succeed("check \(name) --local")
        // Nobody removes the message of a database that is lost.
        if name != "watch.db" { try expectSettled(scene) }
    }

    /// The message of a database that is lost stays until it is decided.
    @Test func aMessageIsNotReplacedByOneWithoutItsEdits() throws {
        let scene = try sent(1)
        try FileManager.default.removeItem(atPath: scene.scratch.path("watch.db"))
        try scene.succeed("join watch.db cloud --name watch --take-over")
        try scene.sync("watch")
        try scene.database("watch.db").run("DELETE FROM notifications WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("watch")
        #expect(try names(scene).count == 2)
        try scene.sync("phone", "watch")
        #expect(try scene.database("phone.db").run(Self.marked) == "1\n")
        try expectSettled(scene)
    }

    @Test func decidedMessageIsNotPutBack() throws {
        let scene = try sent(1)
        try scene.sync("phone")
        // Somebody removes the file before its author has the version that decides its edits: the author imports that first.
        try remove(folder("watch"), scene)
        #expect(try scene.json("sync watch.db")["messages"] == nil)
        try expectSettled(scene)
    }

    /// The reader's copy of the folder lost the message before it brought the version that decides it.
    @Test func decisionThatHasNotArrivedLeavesTheEffectOnce() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 6 --buckets 1")
        try scene.succeed("init phone.db one --built-in --name phone")
        try scene.sync("phone")
        try scene.replicate("one", "two", conflict: nil)
        try scene.succeed("join watch.db two --name watch")
        try scene.sync("watch")
        try scene.database("watch.db").run("\(Self.mark) 1)")
        try scene.sync("watch")
        try scene.replicate("one", "two", conflict: nil)
        try scene.sync("phone")
        // Would the mark be applied twice, it would undo this.
        try scene.database("phone.db").run("UPDATE notifications SET readAt = NULL WHERE readAt = '2026-11-20T10:00:00Z'")
        try scene.sync("phone")
        for cloud in ["one", "two"] { try remove(folder("watch", cloud), scene) }
        #expect((try scene.json("sync watch.db")["messages"] as? [String: Int])?["putBack"] == 1)
        try scene.replicate("one", "two", conflict: nil)
        try scene.sync("phone", "watch")
        #expect(try names(scene, in: "two") == [])
        #expect(try scene.database("phone.db").run(Self.marked) == "0\n")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }
}
