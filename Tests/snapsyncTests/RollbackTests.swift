import Foundation
import TestSupport
import Testing

/// A zone that was put back to an older state is refused, until somebody says that this was meant.
@Suite(.runsPrograms) struct RollbackTests {
    /// Three versions at phone and watch; then the directory is put back to version 1, and both have something that no version has.
    private func putBack() throws -> Scene {
        try Scene.copy(of: "a cloud that was put back", from: .phoneAndWatch()) { scene in
            try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
            for name in ["two", "three"] {
                try scene.database("phone.db").run(
                    "UPDATE buckets SET name = '\(name)'; INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(name)', 'B', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')"
                )
                try scene.sync("phone")
            }
            try scene.sync("watch")
            try scene.database("phone.db").run("UPDATE notifications SET title = 'made here' WHERE id = (SELECT min(id) FROM notifications)")
            try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
            try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
            try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        }
    }

    private func names(_ database: String, in scene: Scene) throws -> String {
        try scene.database(database).run("SELECT group_concat(DISTINCT name) FROM (SELECT name FROM buckets ORDER BY name)")
    }

    @Test func acceptedVersionIsTakenAndChangesStayTracked() throws {
        let scene = try putBack()
        let before = try scene.contents("watch.db")
        Scene.checkRefusal(try scene.run("import watch.db"), exit: 65, saying: ["ends at commit 1, before what this device has read", "snapsync check"])
        try scene.expectFinding(
            "error", "rollback", "watch.db", exit: 65, saying: ["ends at commit 1"], remedy: "snapsync import watch.db --accept-rollback 1")

        let report = try scene.json("import watch.db --accept-rollback 1")
        #expect(report["versionBefore"] as? Int == 3 && report["keptCopy"] as? Int == 1)
        #expect(try names("watch.db", in: scene).contains("three") == false)
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM buckets") == "4\n")
        #expect(try scene.database("watch.db").run("SELECT readAt FROM notifications ORDER BY id DESC LIMIT 1") == "2026-11-20T10:00:00Z\n")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_changes") == "1\n")
        try scene.succeed("check watch.db --local")
        #expect(try scene.doctor("watch.db", exit: 0).about("rollback").isEmpty)

        // The writer, too, goes on only when told; then all of them have the same.
        #expect(try scene.run("sync phone.db").status == 65)
        try scene.succeed("import phone.db --accept-rollback 1")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE title = 'made here'") == "1\n")
        try scene.sync("watch", "phone", "watch", "phone", "watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("watch.db").run("SELECT title FROM notifications ORDER BY id LIMIT 1") == "made here\n")
        #expect(try scene.database("phone.db").run("SELECT readAt FROM notifications ORDER BY id DESC LIMIT 1") == "2026-11-20T10:00:00Z\n")
        for name in ["watch.db", "phone.db"] { try scene.succeed("check \(name) --local") }

        // What was here is not lost.
        try scene.succeed("undo watch.db")
        #expect(try scene.contents("watch.db") == before)
    }

    @Test func anotherVersionThanTheNewestIsNotAccepted() throws {
        let scene = try putBack()
        let (before, cloud) = (try scene.database("watch.db").dump(), try scene.cloudListing())
        for number in [2, 3, 4] {
            Scene.checkRefusal(
                try scene.run("import watch.db --accept-rollback \(number)"), exit: 64,
                saying: ["its newest version is 1, not \(number)", "nothing was changed"])
        }
        #expect(try scene.database("watch.db").dump() == before)
        #expect(try scene.cloudListing() == cloud && !scene.scratch.exists("watch.db.snapsync-kept"))
    }

    @Test func withoutARollbackNothingIsAccepted() throws {
        let scene = try Scene.phoneAndWatch()
        Scene.checkRefusal(
            try scene.run("import watch.db --accept-rollback 1"), exit: 64, saying: ["it has version 1, which is here", "nothing to accept"])
        try scene.database("phone.db").run("UPDATE buckets SET name = 'two'")
        try scene.sync("phone")
        Scene.checkRefusal(try scene.run("import watch.db --accept-rollback 2"), exit: 64, saying: ["nothing to accept"])
        try scene.succeed("join new.db cloud --name new")
        Scene.checkRefusal(try scene.run("import new.db --accept-rollback 2"), exit: 64, saying: ["no version of it is here yet"])
        #expect(try scene.succeed("sync watch.db").hasPrefix("imported version 2\n"))
    }

    @Test func zoneThatWentOnAfterItWasPutBackIsAcceptedAtItsNewest() throws {
        let scene = try putBack()
        try scene.succeed("import phone.db --accept-rollback 1")
        for number in 2...5 {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'again \(number)'")
            try scene.sync("phone")
        }
        Scene.checkRefusal(try scene.run("sync watch.db"), exit: 65, saying: ["is not the one that this device has read"])
        try scene.succeed("import watch.db --accept-rollback 5")
        #expect(try names("watch.db", in: scene) == "again 5\n")
        try scene.sync("watch", "phone", "watch")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    /// The mailbox was put back with the rest: what the lost versions had applied is applied again.
    @Test func messageThatOnlyALostVersionAnsweredIsAppliedAgain() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.sync("watch")
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        try scene.sync("phone")
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        try scene.succeed("import phone.db --accept-rollback 1")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "0\n")
        #expect(try scene.succeed("sync phone.db").contains("edits of readers: 1 applied"))
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "1\n")
    }

    /// Another peer's version has the number: what was published here and what was edited since is kept, and nobody merges it silently.
    @Test func versionOfAnotherPeerIsTakenWhenAPersonSaysSo() throws {
        let scene = try Scene()
        try scene.versionsOfOneNumber()
        try scene.succeed("join watch.db two --name watch")
        try scene.database("laptop.db").run(
            "UPDATE notifications SET subtitle = 'later' WHERE id = (SELECT max(id) FROM notifications); DELETE FROM buckets WHERE id = 'laptop'")
        let before = try scene.contents("laptop.db")
        for line in ["sync", "import", "export", "check --read-data", "status"] {
            let run = try scene.run(line + " laptop.db")
            #expect(run.status == 65 && run.errorText.contains("the commit there is not the one that this device has read"), "\(line): \(run.errorText)")
        }
        try scene.expectFinding(
            "error", "rollback", "laptop.db", exit: 65, saying: ["is not the one that this device has read"],
            remedy: "snapsync import laptop.db --accept-rollback 2")
        let copies = try scene.doctor("one", exit: 0).about("conflictCopies")
        #expect(copies.first?.found.contains("00000000000000000002.sync-conflict-20260301-081500-7KQ2M4A.json") == true, "\(copies)")
        #expect(try scene.json("sync desk.db")["imported"] == nil)

        let report = try scene.succeed("import laptop.db --accept-rollback 2")
        #expect(report.contains("is copy 1 in ") && report.contains("laptop.db.snapsync-kept; snapsync undo laptop.db brings it back"), "\(report)")
        func count(_ condition: String, _ table: String = "notifications") throws -> String {
            try scene.value("SELECT count(*) FROM \(table) WHERE \(condition)", in: "laptop.db")
        }
        // What desk published is there, what no version had yet stays, and what only the missing version had is in the copy.
        #expect(try count("title = 'by desk'") == "1" && count("id = 'desk'", "buckets") == "1" && count("subtitle = 'later'") == "1")
        #expect(try count("title = 'by laptop' OR body = 'by laptop'") == "0" && count("1") == "11")
        #expect(try scene.succeed("show laptop.db.snapsync-kept notifications").contains("by laptop"))
        for name in ["laptop", "desk", "watch"] {
            try scene.succeed("sync \(name).db")
            try scene.replicate("one", "two", conflict: "unused")
        }
        for name in ["laptop", "watch"] { #expect(try scene.contents("\(name).db") == scene.contents("desk.db")) }
        for name in ["laptop", "desk", "watch"] { try scene.succeed("check \(name).db --local") }

        // All of it comes back with undo, as edits of now.
        try scene.succeed("undo laptop.db")
        #expect(try scene.contents("laptop.db") == before)
    }

    /// An edit needs a parent that only the missing version had, and no version says when that was deleted. Every device can read what is published then.
    @Test func aParentThatOnlyTheMissingVersionHadIsPublishedAgain() throws {
        let scene = try Scene.pair(
            "CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, p TEXT NOT NULL REFERENCES p(id)); INSERT INTO p VALUES('p1')"
        )
        let version = try #require(try scene.versions().first)
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        try scene.database("a.db").run("INSERT INTO p VALUES('p2')")
        try scene.sync("a", "b")
        try scene.database("b.db").run("INSERT INTO c VALUES('c2', 'p2')")
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        for line in [
            "import b.db --accept-rollback \(version)", "sync b.db", "import a.db --accept-rollback \(version + 1)", "sync a.db",
            "join n.db cloud --name n", "sync n.db",
        ] {
            let run = try scene.run(line)
            #expect(run.status == 0, "\(line): \(run.errorText)")
        }
        for name in ["a", "b", "n"] {
            #expect(try scene.database("\(name).db").run("SELECT id FROM p ORDER BY id; SELECT * FROM c") == "p1\np2\nc2|p2\n")
            try scene.succeed("check \(name).db --local")
        }
    }
}
