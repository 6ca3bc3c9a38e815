import Foundation
import TestSupport
import Testing

/// `check` names what is wrong with a database and its syncing, and the command that it names mends it.
@Suite(.runsPrograms) struct DoctorDatabaseTests {
    private func scene() throws -> Scene {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run("PRAGMA journal_mode = WAL")
        return scene
    }

    @Test func triggersThatAreGoneAreAWarningUntilTheNextSync() throws {
        let scene = try scene()
        try scene.database("phone.db").run("DROP TRIGGER snapsync_notifications_update0")
        try scene.expectFinding("warning", "triggers", "phone.db", exit: 75, saying: ["notifications"], remedy: "snapsync sync phone.db")
        _ = try scene.run("sync phone.db")
        #expect(try scene.doctor("phone.db", exit: 0).notable == [])
        try scene.database("phone.db").run("DROP TABLE snapsync_log; DROP TABLE snapsync_changes; DROP TABLE snapsync_tracking")
        let lost = try scene.doctor("phone.db", exit: 75)
        #expect(lost.about("triggers").map(\.severity) == ["warning", "warning"])
        #expect(lost.about("changes").map(\.severity) == ["notice", "notice"])
        _ = try scene.run("sync phone.db")
        #expect(try scene.doctor("phone.db", exit: 0).notable == [])
    }

    @Test func tablesThatTheDatasetFileDoesNotDescribeAreTold() throws {
        let scene = try scene()
        for name in ["phone.db", "watch.db"] {
            try scene.database(name).run("ALTER TABLE buckets ADD COLUMN shade TEXT")
            // The reader's is synced as soon as the zone has it.
            let remedy = name == "phone.db" ? "snapsync tables adopt phone.db" : nil
            try scene.expectFinding("notice", "table", "\(name)", exit: 0, saying: ["buckets", "shade"], remedy: remedy)
            try scene.database(name).run("ALTER TABLE buckets DROP COLUMN shade")
            _ = try scene.run("sync \(name)")
            #expect(try scene.doctor("\(name)", exit: 0).about("table").map(\.severity) == ["ok", "ok"])
        }
        // SQLite's own check finds values of the old type; without any the type alone is told.
        try scene.database("watch.db").run(
            """
            UPDATE buckets SET isOrphan = NULL;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'isOrphan INTEGER', 'isOrphan TEXT') WHERE name = 'buckets';
            PRAGMA writable_schema = RESET;
            """)
        try scene.expectFinding("error", "table", "watch.db", exit: 78, saying: ["isOrphan is declared TEXT", "boolean"])
    }

    @Test func damagedDatabaseIsFound() throws {
        let scene = try scene()
        try scene.database("watch.db").run(
            """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'subtitle TEXT', 'subtitle TEXT NOT NULL') WHERE name = 'notifications';
            PRAGMA writable_schema = RESET;
            """)
        try scene.expectFinding(
            "error", "database", "watch.db", exit: 65, saying: ["NULL value in notifications.subtitle"], remedy: "sqlite3 watch.db .recover")
    }

    @Test func disabledGateIsAWarningAndTheCloudIsNotTouched() throws {
        let scene = try scene()
        try scene.succeed("config set watch.db sync off")
        try FileManager.default.moveItem(atPath: scene.scratch.path("cloud"), toPath: scene.scratch.path("away"))
        try scene.expectFinding("warning", "gate", "watch.db", exit: 78, saying: ["not synced"], remedy: "snapsync config set watch.db sync on")
        #expect(try scene.doctor("watch.db", exit: 78).notable == ["warning gate"])
    }

    @Test func overdueScheduleAndFailedRunAreWarnings() throws {
        let scene = try scene()
        try scene.succeed("config set watch.db interval 15m")
        #expect(try scene.doctor("watch.db", exit: 0).about("schedule").map(\.severity) == ["ok"])
        try scene.database("watch.db").run("UPDATE snapsync_state SET value = '\"2026-01-01T00:00:00Z\"' WHERE key = 'lastSuccess'")
        try scene.expectFinding(
            "warning", "schedule", "watch.db", exit: 75, saying: ["the last success is", "three intervals of 15 min"], remedy: "crontab -l")
        try scene.sync("watch")
        #expect(try scene.doctor("watch.db", exit: 0).notable == [])
        #expect(try scene.run("sync watch.db --location none").status == 69)
        try scene.expectFinding("warning", "lastRun", "watch.db", exit: 75, saying: ["the last run failed", "none"])
    }

    @Test func heldRowsAreAWarning() throws {
        let scene = try scene()
        try scene.database("watch.db").run(
            "INSERT INTO snapsync_waiting VALUES('notifications', 'a', '{}', 0, 0, NULL, NULL)")
        try scene.expectFinding("warning", "held", "watch.db", exit: 75, saying: ["1 row of notifications is held"], remedy: "snapsync conflicts watch.db")
    }

    @Test func whatWaitsAndWhatIsKeptAreNotices() throws {
        let scene = try scene()
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.expectFinding("notice", "changes", "watch.db", exit: 0, saying: ["notifications: 1 entity was changed"], remedy: "snapsync sync")
        try scene.sync("watch")
        try scene.expectFinding("notice", "messages", "watch.db", exit: 0, saying: ["1 handed over and not decided yet"])
        try scene.expectFinding("notice", "messages", "phone.db", exit: 0, saying: ["1 to be decided here"])
        try scene.succeed("import watch.db --replace --yes")
        try scene.expectFinding(
            "notice", "copies", "watch.db", exit: 0, saying: ["1 copy of earlier data in watch.db.snapsync-kept"], remedy: "snapsync prune watch.db --copies")
        try scene.database("phone.db").run("PRAGMA journal_mode = DELETE")
        try scene.expectFinding("notice", "journal", "phone.db", exit: 0, saying: ["delete"], remedy: "journal_mode=WAL")
    }

    @Test func databaseThatIsNotSetUpAndAMissingOneEndWith66() throws {
        let scene = try scene()
        try scene.succeed("detach watch.db")
        Scene.checkRefusal(try scene.run("check watch.db"), exit: 66, saying: ["watch.db", "not set up", "snapsync init"])
        Scene.checkRefusal(try scene.run("check none.db"), exit: 66, saying: ["none.db", "no such database"])
    }

    /// Own rows that a first import keeps lie where copies of the data are made later.
    @Test func keptRowsAndKeptCopiesLieSideBySide() throws {
        let scene = try scene()
        try scene.succeed("generate own.db --notifications 30 --buckets 4")
        try scene.database("own.db").run("UPDATE buckets SET name = 'own'; PRAGMA journal_mode = WAL")
        try scene.succeed("join own.db cloud --name own --keep-local")
        try scene.succeed("import own.db")
        let kept = { try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path("own.db.snapsync-kept")).filter { $0.hasSuffix(".gz") } }
        #expect(try kept().count == 1)
        try scene.succeed("status own.db")
        #expect(try scene.doctor("own.db", exit: 0).notable == [])
        try scene.database("own.db").run("UPDATE buckets SET name = 'mine'")
        try scene.succeed("import own.db --replace --yes")
        try scene.succeed("undo own.db")
        #expect(try scene.database("own.db").run("SELECT DISTINCT name FROM buckets") == "mine\n")
        // Removing all copies leaves the rows.
        try scene.succeed("prune own.db --copies --keep-last 0")
        #expect(try kept().count == 1)
        #expect(try scene.json("status own.db")["copies"] as? [String] == [])
    }
}
