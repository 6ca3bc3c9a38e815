import Foundation
import TestSupport
import Testing

/// Directories that are missing, empty, no location, or a location of another time.
@Suite(.runsPrograms) struct BadDirectoryTests {
    private static let commands = [
        "import watch.db", "sync watch.db", "status watch.db", "check watch.db --read-data", "export phone.db", "sync phone.db",
    ]

    private func refuseEverything(
        _ scene: Scene, exit code: Int32, saying fragments: [String], _ lines: [String] = Self.commands, at location: SourceLocation = #_sourceLocation
    ) throws {
        for line in lines { try scene.refuse(line, exit: code, saying: fragments, watching: ["watch.db", "phone.db"], at: location) }
    }

    @Test func directoryThatIsGoneIsNotMade() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try refuseEverything(
            scene, exit: 69, saying: [scene.scratch.path("cloud"), "the directory cannot be opened: No such file or directory", "mount it, or check the path"])
        try scene.refuse("log cloud", exit: 66, saying: ["cloud", "there is no such database"], asJSONToo: true)
        #expect(!scene.scratch.exists("cloud"))
    }

    @Test func emptyMountPointIsNotFilled() throws {
        let scene = try Scene.phoneAndWatch()
        try FileManager.default.removeItem(atPath: scene.scratch.path("cloud"))
        try FileManager.default.createDirectory(atPath: scene.scratch.path("cloud"), withIntermediateDirectories: false)
        try refuseEverything(scene, exit: 69, saying: ["the directory is there, but its cloud.json is not", "mount the directory; nothing was touched"])
        try scene.refuse("log cloud", exit: 66, saying: ["cloud", "there is no cloud.json in it", "check the path"], asJSONToo: true)
        try scene.refuse("join new.db cloud", exit: 66, saying: ["there is no cloud.json in it"])
    }

    @Test func directoryWithOtherFilesDoesNotBecomeACloud() throws {
        let scene = try Scene()
        try scene.succeed("generate phone.db --notifications 2 --buckets 1")
        try scene.scratch.write("mine", to: "cloud/holiday.txt")
        try scene.refuse(
            "init phone.db cloud --built-in", exit: 66, saying: ["cloud", "holds other files and is not a location", "give an empty directory"],
            watching: ["phone.db"])
        try scene.scratch.write("mine", to: "file")
        try scene.refuse(
            "init phone.db file --built-in", exit: 69, saying: ["file", "Not a directory"], watching: ["phone.db"], asJSONToo: true)
    }

    /// A marker of a cloud and one of a zone, each with the exit code and what is said. DirectoryIdentityTests has others.
    private static let markers: [(file: String, text: String, code: Int32, says: [String])] = [
        ("cloud/cloud.json", #"{"formatVersion":2,"uuid":7}"#, 78, ["cloud.json", "format version 2; this program knows version 1", "update snapsync"]),
        ("cloud/cloud.json", String(repeating: " ", count: 70_000), 65, ["cloud.json", "70000 bytes long, at most 65536 are allowed"]),
        (Scene.zone + "/zone.json", #"{"creator":"phone","#, 65, ["zone.json", "not JSON"]),
    ]

    @Test func markersOfAnotherTimeOrHandAreRefused() throws {
        let scene = try Scene.phoneAndWatch(notifications: 3, buckets: 1)
        for marker in Self.markers {
            let before = try scene.scratch.read(marker.file)
            try scene.scratch.write(marker.text, to: marker.file)
            // A beginning of a file that is young would count as still arriving.
            try scene.scratch.age(marker.file, minutes: 60)
            try refuseEverything(scene, exit: marker.code, saying: marker.says, ["import watch.db", "export phone.db"])
            try scene.refuse("log cloud --zone ZentikSyncZone", exit: marker.code, saying: marker.says)
            try scene.refuse("join new.db cloud --zone ZentikSyncZone", exit: marker.code, saying: marker.says)
            #expect(!scene.scratch.exists("new.db"))
            try scene.scratch.write(before, to: marker.file)
        }
        try scene.sync("watch")
    }

    @Test func zoneThatNobodyHasPublishedInHasNothing() throws {
        let scene = try Scene()
        try scene.succeed("init phone.db cloud --built-in --name phone")
        try scene.refuse(
            "join watch.db cloud", exit: 66, saying: ["nothing has been published yet", "snapsync sync DB on phone"])
        // With a dataset file there is nothing that the zone would have to say.
        try scene.succeed("generate watch.db --notifications 0 --buckets 0")
        try scene.scratch.write(scene.run("tables describe watch.db").output, to: "watch.json")
        try scene.succeed("join watch.db cloud --datasets watch.json")
        for line in ["import watch.db", "sync watch.db", "show watch.db buckets", "check watch.db --read-data", "show cloud buckets"] {
            try scene.refuse(line, exit: 66, saying: ["nothing has been published yet", "run snapsync export DB on the writer first"], watching: ["watch.db"])
        }
        #expect(try scene.succeed("log watch.db") == "nothing has been published yet\n")
        #expect(try scene.succeed("status watch.db").contains("no version yet, the zone has none"))
    }
}
