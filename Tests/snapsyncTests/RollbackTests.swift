import Foundation
import TestSupport
import Testing

/// A zone that was put back to an older state is refused, until somebody says that this was meant.
@Suite(.runsPrograms) struct RollbackTests {
    /// Three versions at phone and watch; then the directory is put back to version 1, and both have something that no version has.
    private func putBack() throws -> Scene {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        for name in ["two", "three"] {
            try scene.database("phone.db").run(
                "UPDATE buckets SET name = '\(name)'; INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(name)', 'B', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')"
            )
            try scene.succeed("sync --db phone.db")
        }
        try scene.succeed("sync --db watch.db")
        try scene.database("phone.db").run("UPDATE notifications SET title = 'made here' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        return scene
    }

    private func names(_ database: String, in scene: Scene) throws -> String {
        try scene.database(database).run("SELECT group_concat(DISTINCT name) FROM (SELECT name FROM buckets ORDER BY name)")
    }

    @Test func acceptedVersionIsTakenAndChangesStayTracked() throws {
        let scene = try putBack()
        let before = try scene.contents("watch.db")
        Scene.checkRefusal(try scene.run("import --db watch.db"), exit: 65, saying: ["ends at commit 1, before what this device has read", "doctor"])
        try scene.expectFinding(
            "error", "rollback", "--db watch.db", exit: 65, saying: ["ends at commit 1"], remedy: "snapsync import --accept-rollback 1 --db watch.db")

        let report = try scene.json("import --db watch.db --accept-rollback 1")
        #expect(report["versionBefore"] as? Int == 3 && report["keptCopy"] as? Int == 1)
        #expect(try names("watch.db", in: scene).contains("three") == false)
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM buckets") == "4\n")
        #expect(try scene.database("watch.db").run("SELECT readAt FROM notifications ORDER BY id DESC LIMIT 1") == "2026-11-20T10:00:00Z\n")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM snapsync_changes") == "1\n")
        try scene.succeed("verify --local --db watch.db")
        #expect(try scene.doctor("--db watch.db", exit: 0).about("rollback").isEmpty)

        // The writer, too, goes on only when told; then all of them have the same.
        #expect(try scene.run("sync --db phone.db").status == 65)
        try scene.succeed("import --db phone.db --accept-rollback 1")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE title = 'made here'") == "1\n")
        for name in ["watch.db", "phone.db", "watch.db", "phone.db", "watch.db"] { try scene.succeed("sync --db \(name)") }
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
        #expect(try scene.database("watch.db").run("SELECT title FROM notifications ORDER BY id LIMIT 1") == "made here\n")
        #expect(try scene.database("phone.db").run("SELECT readAt FROM notifications ORDER BY id DESC LIMIT 1") == "2026-11-20T10:00:00Z\n")
        for name in ["watch.db", "phone.db"] { try scene.succeed("verify --local --db \(name)") }

        // What was here is not lost.
        try scene.succeed("undo --db watch.db")
        #expect(try scene.contents("watch.db") == before)
    }

    @Test func anotherVersionThanTheNewestIsNotAccepted() throws {
        let scene = try putBack()
        let (before, cloud) = (try scene.database("watch.db").dump(), try scene.cloudListing())
        for number in [2, 3, 4] {
            Scene.checkRefusal(
                try scene.run("import --db watch.db --accept-rollback \(number)"), exit: 78,
                saying: ["its newest version is 1, not \(number)", "nothing was changed"])
        }
        #expect(try scene.database("watch.db").dump() == before)
        #expect(try scene.cloudListing() == cloud && !scene.scratch.exists("watch.db.snapsync-kept"))
    }

    @Test func withoutARollbackNothingIsAccepted() throws {
        let scene = try Scene.phoneAndWatch()
        Scene.checkRefusal(
            try scene.run("import --db watch.db --accept-rollback 1"), exit: 78, saying: ["it has version 1, which is here", "nothing to accept"])
        try scene.database("phone.db").run("UPDATE buckets SET name = 'two'")
        try scene.succeed("sync --db phone.db")
        Scene.checkRefusal(try scene.run("import --db watch.db --accept-rollback 2"), exit: 78, saying: ["nothing to accept"])
        try scene.succeed("init --db new.db --cloud cloud --role reader --device new --create")
        Scene.checkRefusal(try scene.run("import --db new.db --accept-rollback 2"), exit: 78, saying: ["no version of it is here yet"])
        #expect(try scene.succeed("sync --db watch.db").hasPrefix("imported version 2\n"))
    }

    @Test func zoneThatWentOnAfterItWasPutBackIsAcceptedAtItsNewest() throws {
        let scene = try putBack()
        try scene.succeed("import --db phone.db --accept-rollback 1")
        for number in 2...5 {
            try scene.database("phone.db").run("UPDATE buckets SET name = 'again \(number)'")
            try scene.succeed("sync --db phone.db")
        }
        Scene.checkRefusal(try scene.run("sync --db watch.db"), exit: 65, saying: ["is not the one that this device has read"])
        try scene.succeed("import --db watch.db --accept-rollback 5")
        #expect(try names("watch.db", in: scene) == "again 5\n")
        for name in ["watch.db", "phone.db", "watch.db"] { try scene.succeed("sync --db \(name)") }
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    /// The mailbox was put back with the rest: what the lost versions had applied is applied again.
    @Test func messageThatOnlyALostVersionAnsweredIsAppliedAgain() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT max(id) FROM notifications)")
        try scene.succeed("sync --db watch.db")
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "backup")
        try scene.succeed("sync --db phone.db")
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try scene.scratch.copy(scene.scratch.path("backup"), to: "cloud")
        try scene.succeed("import --db phone.db --accept-rollback 1")
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "0\n")
        #expect(try scene.succeed("sync --db phone.db").contains("edits of readers: 1 applied"))
        #expect(try scene.database("phone.db").run("SELECT count(*) FROM notifications WHERE readAt = '2026-11-20T10:00:00Z'") == "1\n")
    }
}
