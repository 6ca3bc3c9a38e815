import Foundation
import SnapshotModel
import TestSupport
import Testing

/// One database reaches another through a directory: the main job, seen by readers that share no code with it.
@Suite(.runsPrograms) struct MainJobTests {
    @Test func readerGetsEveryColumnOfEveryRow() throws {
        let scene = try Scene.phoneAndWatch(notifications: 150, buckets: 8)
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM notifications") == "150\n")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))

        try scene.markRead(5, from: 3)
        try scene.database("phone.db").run(
            """
            DELETE FROM notifications WHERE id IN (SELECT id FROM notifications ORDER BY id LIMIT 7);
            INSERT INTO buckets VALUES('new', 'A ''quoted'' name 🛰️', NULL, '', NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 1);
            UPDATE notifications SET body = 'line one' || char(10) || 'line two' || char(9) || '…', tapAction = '{"type":"OPEN", "destructive":false}'
                WHERE id = (SELECT max(id) FROM notifications);
            """)
        #expect(try scene.contents("watch.db") != scene.contents("phone.db"))
        try scene.sync("phone", "watch")
        #expect(try scene.database("watch.db").run("SELECT count(*) FROM notifications") == "143\n")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func eachStepSaysWhatItWroteWhere() throws {
        let scene = try Scene()
        #expect(
            try scene.succeed("generate phone.db --notifications 30 --buckets 4 --seed 9") == "phone.db: added 30 notifications in 4 buckets (seed 9)\n")
        let made = try scene.succeed("init phone.db cloud --built-in --name phone")
        #expect(made.contains("phone.db is a writer of zone ZentikSyncZone in \(scene.scratch.path("cloud"))\n"))
        let exported = try scene.succeed("export phone.db")
        #expect(exported.hasPrefix("published version 1\n  buckets: 4 entities, "))
        for dataset in ["buckets", "notifications"] {
            let asset = try scene.asset(dataset)
            #expect(exported.contains(" in \(asset.dropFirst(Scene.zone.count + 1))\n"))
            let size = try scene.scratch.read(asset).count
            let shown = size < 1000 ? "\(size) B" : "\((Double(size) / 100).rounded() / 10) kB"
            #expect(exported.contains(" as \(shown) in "), "\(shown) is not in \(exported)")
        }
        try scene.succeed("join watch.db cloud --name watch")
        let imported = try scene.succeed("import watch.db")
        #expect(imported.hasPrefix("imported version 1\n  buckets: 4 entities of 2"))
        #expect(imported.contains("\n  notifications: 30 entities of 2"))
    }

    @Test func assetsDecodeIntoTheContainers() throws {
        let scene = try Scene.phone(notifications: 60, buckets: 5)
        let buckets = try JSONDecoder().decode(BucketsDataContainer.self, from: Gzip.decompress(scene.scratch.path(scene.asset("buckets"))))
        let notifications = try JSONDecoder().decode(
            NotificationsDataContainer.self, from: Gzip.decompress(scene.scratch.path(scene.asset("notifications"))))
        #expect(buckets.syncTimestamp == notifications.syncTimestamp)

        // The same values as SQLite's own JSON functions make of the rows.
        let rows = try scene.database("phone.db").run(
            """
            SELECT json_group_array(json_object('id', id, 'title', title, 'subtitle', subtitle, 'body', body, 'readAt', readAt, 'sentAt', sentAt,
                'createdAt', createdAt, 'updatedAt', updatedAt, 'bucketId', bucketId, 'attachments', json(attachments),
                'actions', json(actions), 'tapAction', json(tapAction))) FROM (SELECT * FROM notifications ORDER BY id)
            """)
        #expect(try JSONDecoder().decode([SnapshotModel.Notification].self, from: Data(rows.utf8)) == notifications.notifications)
        #expect(notifications.notifications.contains { !$0.attachments.isEmpty } && notifications.notifications.contains { $0.tapAction != nil })
        let names = try scene.database("phone.db").run("SELECT name FROM buckets ORDER BY id")
        #expect(buckets.buckets.map { $0.name + "\n" }.joined() == names)
    }

    @Test func exportWithNothingNewWritesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        let before = try scene.cloudListing()
        #expect(try scene.succeed("export phone.db") == "nothing new since version 1; nothing was written\n")
        #expect(try scene.succeed("sync phone.db") == "nothing new since version 1; nothing was written\n")
        #expect(try scene.succeed("sync phone.db --quiet") == "")
        #expect(try scene.cloudListing() == before)
        // A row written anew with the same values is an edit of its own instant (docs/internals/merge.md); it is published once.
        try scene.database("phone.db").run(
            "CREATE TEMP TABLE copy AS SELECT * FROM notifications; DELETE FROM notifications; INSERT INTO notifications SELECT * FROM copy ORDER BY id DESC")
        #expect(try scene.json("export phone.db")["published"] as? Bool == true)
        let after = try scene.cloudListing()
        #expect(try scene.json("export phone.db")["published"] as? Bool == false)
        #expect(try scene.cloudListing() == after)
    }

    @Test func importOfWhatIsHereDoesNothing() throws {
        let scene = try Scene.phoneAndWatch()
        let (cloud, rows) = (try scene.cloudListing(), try scene.contents("watch.db"))
        // Behind the tracking's back: a sync would tell the writer.
        try scene.database("watch.db").run(SQLiteShell.untracked("UPDATE buckets SET color = '#untouched'"))
        #expect(try scene.succeed("import watch.db") == "version 1 is here already; nothing was changed\n")
        #expect(try scene.succeed("sync watch.db") == "version 1 is here already; nothing was changed\n")
        #expect(try scene.database("watch.db").run("SELECT DISTINCT color FROM buckets") == "#untouched\n")
        #expect(try scene.cloudListing() == cloud)
        #expect(try scene.contents("watch.db") != rows)
    }

    @Test func onlyTheDatasetThatChangedIsWritten() throws {
        let scene = try Scene.phoneAndWatch()
        let bucketsAsset = try scene.asset("buckets")
        try scene.markRead(1)
        let report = try scene.json("export phone.db")
        #expect((report["written"] as? [[String: Any]])?.map { $0["name"] as? String } == ["notifications"])
        #expect(report["unchanged"] as? [String] == ["buckets"])
        #expect(try scene.asset("buckets") == bucketsAsset)
        #expect(try scene.asset("notifications").contains("/00000000000000000002-"))
    }

    @Test func emptyDatasetsTravel() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("phone.db").run("DELETE FROM notifications; DELETE FROM buckets")
        try scene.succeed("export phone.db --allow-shrink all")
        #expect(try Gzip.decompress(scene.scratch.path(scene.asset("notifications"))).suffix(3) == Data("]}\n".utf8))
        let container = try JSONDecoder().decode(NotificationsDataContainer.self, from: Gzip.decompress(scene.scratch.path(scene.asset("notifications"))))
        #expect(container.notifications.isEmpty)
        try scene.succeed("import watch.db")
        #expect(try scene.database("watch.db").run("SELECT (SELECT count(*) FROM notifications) + (SELECT count(*) FROM buckets)") == "0\n")
        #expect(try scene.succeed("show watch.db buckets").contains(",\"buckets\":[\n],\"deletions\":[{\"id\":"))
        try scene.succeed("check watch.db --all-versions --local")
    }

    @Test func firstVersionMayBeEmpty() throws {
        let scene = try Scene()
        try scene.succeed("init phone.db cloud --built-in --name phone")
        #expect(try scene.succeed("export phone.db").hasPrefix("published version 1\n  buckets: 0 entities"))
        try scene.succeed("join watch.db cloud --name watch")
        try scene.succeed("import watch.db")
        #expect(try scene.json("status watch.db")["version"] as? Int == 1)
    }
}
