import Foundation
import TestSupport
import Testing

/// A reader's sync that imports and cannot send says so until it can.
@Suite(.runsPrograms) struct HalfSyncTests {
    @Test func aFailureToSendIsNotedAndEndsTheLastSuccess() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.sync("watch")
        let mailbox = try scene.blockMailbox(of: "watch")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.database("phone.db").run("UPDATE buckets SET name = 'news'")
        try scene.sync("phone")
        let half = try scene.run("sync watch.db")
        #expect(half.status != 0)
        #expect(try scene.contents("watch.db").contains("'news'"))
        let status = try scene.json("status watch.db")
        #expect((status["lastError"] as? [String: Any])?["step"] as? String == "announce")
        // The import is of this moment, but the messages have not gone.
        #expect(status["unsentSince"] as? String != nil)
        let monitored = try scene.run("status watch.db --strict --max-age 1d")
        #expect(monitored.status == 75 && monitored.errorText.contains("messages of this device could not be sent since"))
        let plugin = try scene.run("status watch.db --strict --nagios --max-age 1d")
        #expect(plugin.status == 2 && plugin.text.hasPrefix("SNAPSYNC CRITICAL - messages of this device could not be sent since"))

        // Imports go on well; the last success is not later than the first failure to send.
        #expect(try scene.run("sync watch.db").status == half.status)
        let first = try #require(try scene.json("status watch.db")["lastSuccess"] as? String)
        for _ in 0..<2 { #expect(try scene.run("sync watch.db").status == half.status) }
        #expect(try scene.json("status watch.db")["lastSuccess"] as? String == first)
        let strict = try scene.run("status watch.db --strict --max-age 1s")
        if strict.status == 0 {
            // Less than a second has passed; wait for it rather than for a duration.
            while try scene.run("status watch.db --strict --max-age 1s").status == 0 {}
        }
        #expect(try scene.run("status watch.db --strict --max-age 1s").status == 75)

        try FileManager.default.removeItem(atPath: scene.scratch.path(mailbox))
        #expect(try scene.succeed("sync watch.db").contains("sent 1 edit to the publisher"))
        let healed = try scene.json("status watch.db")
        #expect(healed["lastError"] == nil && healed["unsentSince"] == nil)
        try scene.succeed("status watch.db --strict --max-age 1d")
        #expect(try #require(healed["lastSuccess"] as? String) > first)
    }

    /// What a reader has edited is known without the version that it edited.
    @Test func anEditIsSentAlsoIfTheVersionBeforeCannotBeRead() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE buckets SET name = 'by watch' WHERE id = (SELECT max(id) FROM buckets)")
        let old = try scene.asset("buckets")
        try scene.database("phone.db").run(
            "UPDATE notifications SET title = 'new'; UPDATE buckets SET name = 'by phone' WHERE id = (SELECT min(id) FROM buckets)")
        try scene.sync("phone")
        try FileManager.default.removeItem(atPath: scene.scratch.path(old))
        #expect(try scene.succeed("sync watch.db").contains("sent 1 edit to the publisher"))
        try scene.sync("phone", "watch")
        #expect(try scene.contents("phone.db") == scene.contents("watch.db"))
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM buckets WHERE name IN ('by watch', 'by phone')") == "2\n")
    }
}

extension Scene {
    /// Puts a file where a device's folder in the mailbox has to be, so that nobody can write there, not even the superuser. Returns its path.
    @discardableResult
    func blockMailbox(of device: String) throws -> String {
        let mailbox = "\(zone)/messages/\(device)"
        try? FileManager.default.removeItem(atPath: scratch.path(mailbox))
        try scratch.write("", to: mailbox)
        return mailbox
    }
}
