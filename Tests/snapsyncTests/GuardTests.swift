import Foundation
import TestSupport
import Testing

/// The rules that say no before anything is changed: who publishes, what a first import may replace, what is older.
@Suite(.runsPrograms) struct GuardTests {
    @Test func readerDoesNotPublish() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.database("watch.db").run("UPDATE notifications SET title = 'mine'")
        try scene.refuse(
            "export watch.db", exit: 64, saying: ["watch.db", "this device is a reader", "publish from the writer"], watching: ["watch.db"],
            asJSONToo: true)
    }

    @Test func oneDevicePublishesInAZone() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate desk.db --notifications 5 --buckets 1")
        try scene.refuse(
            "init desk.db cloud --built-in --name desk", exit: 78,
            saying: ["zone", "its one publisher is the device phone", "snapsync join"], watching: ["desk.db"])
        // A database that says it is another device does not publish either, whatever it was told at init.
        try scene.database("phone.db").run("UPDATE snapsync_settings SET value = 'desk' WHERE key = 'device'; DELETE FROM notifications")
        try scene.refuse("export phone.db", exit: 78, saying: ["its one publisher is the device phone, not desk"], watching: ["phone.db"])
    }

    @Test func databaseMadeAnewDoesNotReplaceTheZonesData() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.removeItem(atPath: scene.scratch.path("phone.db"))
        // An app that was installed again has made its default settings already.
        try scene.succeed("generate phone.db --notifications 2 --buckets 1 --seed 99")
        try scene.succeed("join phone.db cloud --writer --name phone --replace-local --take-over")
        for line in ["export phone.db", "sync phone.db"] {
            try scene.refuse(
                line, exit: 78, saying: ["it has data that this database has not imported", "run snapsync import phone.db first"], watching: ["phone.db"])
        }
        try scene.succeed("import phone.db")
        #expect(try scene.contents("phone.db") == scene.contents("watch.db"))
        #expect(try scene.json("export phone.db")["published"] as? Bool == false)
        try scene.markRead(1)
        #expect(try scene.json("export phone.db")["version"] as? Int == 2)
    }

    @Test func olderCopyOfTheWriterDoesNotPublish() throws {
        let scene = try Scene.phone()
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "backup.db")
        try scene.markRead(1)
        try scene.succeed("export phone.db")
        let cloud = try scene.cloudListing()
        Scene.checkRefusal(
            try scene.run("export backup.db"), exit: 78,
            saying: ["version 2 was published as phone, and not from here", "a backup that was put back", "snapsync device claim "])
        #expect(try scene.cloudListing() == cloud)
        // Next time the same, in other words: the database has another name now.
        try scene.refuse(
            "export backup.db", exit: 78, saying: ["its one publisher is the device phone, not phone-", "device claim"], watching: ["backup.db"])
    }

    @Test func firstImportReplacesOwnRowsOnlyWhereThatWasAskedFor() throws {
        let scene = try Scene.phone()
        try scene.succeed("generate watch.db --notifications 2 --buckets 1 --seed 99")
        try scene.refuse(
            "join watch.db cloud --name watch", exit: 78,
            saying: ["watch.db, table buckets", "rows that did not come from this location", "--replace-local"],
            watching: ["watch.db"])
        try scene.succeed("join watch.db cloud --name watch --replace-local")
        try scene.succeed("import watch.db")
        #expect(try scene.contents("watch.db") == scene.contents("phone.db"))
    }

    @Test func olderCopyOfTheCloudIsRefused() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "older")
        try scene.markRead(2)
        try scene.succeed("export phone.db")
        try scene.succeed("import watch.db")
        // Somebody puts the copy of yesterday back.
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try FileManager.default.moveItem(atPath: scene.scratch.path("older"), toPath: scene.scratch.path("cloud"))
        for line in ["import watch.db", "sync watch.db", "export phone.db", "status watch.db"] {
            try scene.refuse(
                line, exit: 65, saying: ["commits/00000000000000000002.json", "the zone ends at commit 1, before what this device has read"],
                watching: ["watch.db", "phone.db"])
        }
        // Looking at what is there, without a database, is no harm.
        #expect(try scene.json("log cloud")["newestVersion"] as? Int == 1)
    }

    @Test func otherHistoryOfTheSameNumberIsRefused() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.scratch.copy(scene.scratch.path("cloud"), to: "fork")
        try scene.scratch.copy(scene.scratch.path("phone.db"), to: "twin.db")
        try scene.markRead(2, from: 1)
        try scene.succeed("export phone.db")
        try scene.succeed("import watch.db")
        for _ in 0..<2 {
            try scene.markRead(3, from: 5, in: "twin.db")
            try scene.succeed("export twin.db --location fork")
        }
        try scene.refuse(
            "import watch.db --location fork", exit: 65,
            saying: ["commits/00000000000000000002.json", "the commit there is not the one that this device has read"], watching: ["watch.db"])
    }

    @Test func fieldsThatThisDeviceDoesNotKnowAreNotLostByPublishing() throws {
        let scene = try Scene.phone()
        // A newer version of the application knows one more column.
        try scene.scratch.write(
            """
            {"formatVersion": 1, "datasets": [{"name": "buckets", "key": "id", "timestamp": "updatedAt", "columns": [
              {"name": "id", "type": "text"}, {"name": "name", "type": "text"}, {"name": "createdAt", "type": "text"}, {"name": "updatedAt", "type": "text"}]}]}
            """, to: "less.json")
        try scene.database("less.db").run("CREATE TABLE buckets(id TEXT PRIMARY KEY NOT NULL, name TEXT, createdAt TEXT, updatedAt TEXT)")
        try scene.succeed("join less.db cloud --writer --name phone --take-over --datasets less.json")
        let warnings = try #require(try scene.json("import less.db")["warnings"] as? [String])
        #expect(warnings.contains { $0.hasPrefix("buckets: this device does not know the fields ") && $0.contains("color") })
        #expect(warnings.contains("the record notifications_data is of no dataset that this device knows"))
        try scene.database("less.db").run("UPDATE buckets SET name = 'mine'")
        try scene.refuse(
            "export less.db", exit: 78, saying: ["dataset buckets", "fields that this device does not know", "publishing would lose them", "update"],
            watching: ["less.db"])
        try scene.refuse("restore less.db 1", exit: 78, saying: ["dataset buckets", "fields that this device does not know"], watching: ["less.db"])
    }

    @Test func aDatasetFileWithAnotherRecordTypeIsRefused() throws {
        let scene = try Scene.phone()
        let columns = #""columns": [{"name": "id"}, {"name": "name"}]"#
        try scene.scratch.write(#"{"formatVersion": 1, "datasets": [{"name": "buckets", "key": "id", "recordType": "Other", \#(columns)}]}"#, to: "other.json")
        try scene.database("r.db").run("CREATE TABLE buckets(id TEXT PRIMARY KEY NOT NULL, name TEXT)")
        try scene.succeed("join r.db cloud --name r --datasets other.json")
        try scene.refuse(
            "sync r.db", exit: 78, saying: ["record buckets_data", "its type is BucketsData, the dataset file says Other"], watching: ["r.db"])
    }

    @Test func secondExportOfOneCommitIsNotMadeAfterACrash() throws {
        let scene = try Scene.phone()
        // The state of a run that was ended between its commit and the note of it.
        let before = try scene.database("phone.db").run("SELECT value FROM snapsync_state WHERE key = 'applied'")
        try scene.database("phone.db").run(
            """
            UPDATE snapsync_state SET key = 'intended', value = json_object('version', json(value), 'sequences', json('{}')) WHERE key = 'applied';
            DELETE FROM snapsync_datasets
            """)
        let cloud = try scene.cloudListing()
        let run = try scene.run("export phone.db")
        #expect(run.status == 0 && run.text.hasPrefix("nothing new since version 1; nothing was written\n"))
        #expect(run.text.contains("found version 1, which an earlier run had published without noting it"))
        #expect(try scene.cloudListing() == cloud)
        #expect(try scene.database("phone.db").run("SELECT value FROM snapsync_state WHERE key = 'applied'") == before)
    }
}
