import Foundation
import TestSupport
import Testing

/// The rules that say no before anything is changed: who publishes, what a first import may replace, what is older.
@Suite(.runsPrograms) struct GuardTests {
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
}
