import Foundation
import TestSupport
import Testing

/// `check` names what is wrong with a directory and a zone, and ends with the code of the worst.
@Suite(.runsPrograms) struct DoctorTests {
    /// A writer with three versions in a WAL database, and a reader that has them all.
    private func scene() throws -> Scene {
        try Scene.copy(of: "three versions and a reader", from: .phone()) { scene in
            try scene.database("phone.db").run("PRAGMA journal_mode = WAL")
            for name in ["two", "three"] {
                try scene.database("phone.db").run("UPDATE buckets SET name = '\(name)'")
                try scene.succeed("export phone.db")
            }
            try scene.succeed("join watch.db cloud --name watch")
            try scene.succeed("import watch.db")
        }
    }

    private func remove(_ path: String, in scene: Scene) throws { try FileManager.default.removeItem(atPath: scene.scratch.path(path)) }

    private func move(_ path: String, to name: String, in scene: Scene) throws {
        try FileManager.default.moveItem(atPath: scene.scratch.path(path), toPath: scene.scratch.path(name))
    }

    private static let commit2 = "\(Scene.zone)/commits/00000000000000000002.json"

    @Test func healthyDevicesAndTheirCloudHaveNoFindings() throws {
        let scene = try scene()
        let cloud = try FileListing(of: scene.scratch.path("cloud"), foldersToo: false)
        for line in ["phone.db", "watch.db", "cloud"] {
            let diagnosis = try scene.doctor(line, exit: 0)
            #expect(diagnosis.notable == [] && diagnosis.worst == nil, "\(line): \(diagnosis.notable)")
        }
        // What was tried out has left nothing, and the writer's list is the whole one.
        #expect(try FileListing(of: scene.scratch.path("cloud"), foldersToo: false) == cloud)
        #expect(
            Set(try scene.doctor("phone.db", exit: 0).findings.map(\.id)).isSuperset(of: [
                "location", "fileSystem", "space", "permission", "placement", "durability", "letterCase", "clock", "events", "foreignFiles", "zone", "commits",
                "gaps", "assets", "orphans", "temporaries", "devices", "database", "journal", "table", "triggers", "gate", "version", "changes", "messages",
                "schedule", "lastRun", "copies",
            ]))
        // A reader tries nothing out.
        #expect(try scene.doctor("watch.db", exit: 0).about("placement").isEmpty)
        let text = try scene.succeed("check phone.db")
        #expect(text.hasPrefix("all is well: ") && text.hasSuffix(" ok (-v lists them)\n") && text.split(separator: "\n").count == 1, "\(text)")
        #expect(try scene.succeed("check phone.db -v").contains("ok: clock: "))
    }

    @Test func directoryThatIsAwayOrAnotherCloudIsTold() throws {
        let scene = try scene()
        try move("cloud", to: "old", in: scene)
        try scene.expectFinding("error", "location", "phone.db", exit: 69, saying: ["cannot be opened"], remedy: "mount")
        try FileManager.default.createDirectory(atPath: scene.scratch.path("cloud"), withIntermediateDirectories: false)
        try scene.expectFinding("error", "location", "phone.db", exit: 69, saying: ["its cloud.json is not"], remedy: "mount")
        try scene.expectFinding("error", "location", "cloud", exit: 66, saying: ["there is no cloud.json"])
        try scene.succeed("generate other.db --notifications 3 --buckets 1")
        try scene.succeed("init other.db cloud --built-in --name other")
        try scene.expectFinding("error", "location", "phone.db", exit: 78, saying: ["this is the location", "not"], remedy: "mount the right directory")
        try scene.expectFinding("error", "zone", "cloud --zone None", exit: 66, saying: ["no such zone"])
        try scene.expectFinding("notice", "commits", "cloud", exit: 0, saying: ["nothing has been published yet"])
        // What is local is told all the same.
        #expect(try scene.doctor("phone.db", exit: 78).about("triggers").map(\.severity) == ["ok", "ok"])
    }

    @Test func strangersInTheDirectoryAreNamed() throws {
        let scene = try scene()
        try scene.scratch.copy(scene.scratch.path("\(Scene.zone)/zone.json"), to: "\(Scene.zone)/zone.sync-conflict-20260301-080000-ABCDEFG.json")
        try scene.scratch.write("x", to: "\(Scene.zone)/commits/notes\u{1b}.txt")
        try scene.scratch.write("x", to: "cloud/readme.txt")
        try scene.scratch.write("x", to: "cloud/.stignore")
        try scene.scratch.write("x", to: "\(Scene.zone)/.snapsync-doctor-00/probe")
        let diagnosis = try scene.doctor("cloud", exit: 0)
        #expect(diagnosis.notable == ["notice conflictCopies", "notice foreignFiles", "notice foreignFiles"])
        #expect(diagnosis.about("conflictCopies").first?.found.contains("zone.sync-conflict-20260301-080000-ABCDEFG.json") == true)
        let text = try scene.succeed("check cloud")
        #expect(
            text.contains("2 files that are not the location's: ") && text.contains("readme.txt") && text.contains("notes\\u{1b}.txt")
                && !text.contains("\u{1b}"),
            "\(text)")
        #expect(!text.contains("stignore") && text.contains("folder of a killed doctor"))
        #expect(mkfifo(scene.scratch.path("\(Scene.zone)/commits/00000000000000000009.json"), 0o600) == 0)
        try scene.expectFinding("error", "foreignFiles", "cloud", exit: 65, saying: ["commits/00000000000000000009.json"])
    }

    @Test func filesThatNoCommitNamesAreNotices() throws {
        let scene = try scene()
        try scene.scratch.copy(scene.scratch.path(scene.asset("buckets")), to: "\(Scene.zone)/assets/buckets_data/00000000000000000004-0badc0de.json.gz")
        try scene.scratch.write("x", to: "\(Scene.zone)/commits/.snapsync-0123456789abcdef0123456789abcdef.tmp")
        let diagnosis = try scene.doctor("phone.db", exit: 0)
        #expect(diagnosis.notable == ["notice orphans", "notice temporaries"])
        #expect(diagnosis.about("orphans").first?.found.contains("assets/buckets_data/00000000000000000004-0badc0de.json.gz") == true)
        #expect(diagnosis.about("orphans").first?.remedy?.contains("snapsync prune") == true)
    }

    @Test func missingCommitAndDamagedCommitAreErrors() throws {
        let scene = try scene()
        let bytes = try scene.scratch.read(Self.commit2)
        try remove(Self.commit2, in: scene)
        try scene.expectFinding("error", "gaps", "phone.db", exit: 65, saying: ["1 commit is missing: 2"], remedy: "copy")
        try scene.expectFinding("error", "gaps", "cloud", exit: 65, saying: ["1 commit is missing: 2"], remedy: "repair")
        try scene.scratch.write(bytes + Data(" ".utf8), to: Self.commit2)
        try scene.expectFinding("error", "commits", "cloud", exit: 65, saying: ["00000000000000000002.json"], remedy: "copy")
        try remove(Self.commit2, in: scene)
        try scene.scratch.write(bytes, to: Self.commit2)
        #expect(try scene.doctor("cloud", exit: 0).notable == [])
    }

    @Test func filesOfTheNewestVersionThatAreMissingOrCutAreTold() throws {
        let scene = try scene()
        let asset = try scene.asset("notifications")
        let bytes = try scene.scratch.read(asset)
        try remove(asset, in: scene)
        try scene.expectFinding(
            "warning", "assets", "watch.db", exit: 75, saying: ["1 file of version 3 is not there", "notifications_data"],
            remedy: "run: snapsync repair watch.db; what that cannot mend, snapsync export --full")
        try scene.scratch.write(bytes.dropLast(1), to: asset)
        try scene.expectFinding(
            "warning", "assets", "watch.db", exit: 75, saying: ["1 file of version 3 is still arriving", "notifications_data"],
            remedy: "wait for the sync tool")
        try scene.scratch.age(asset, minutes: 60)
        try scene.expectFinding(
            "error", "assets", "watch.db", exit: 65, saying: ["another size", "notifications_data"],
            remedy: "run: snapsync repair watch.db; what that cannot mend, snapsync export --full")
        try scene.succeed("export phone.db --full")
        #expect(try scene.doctor("cloud", exit: 0).notable == ["notice devices"])
    }

    @Test func devicesThatAreBehindAreToldAndSilentOnesAreWarnings() throws {
        let scene = try scene()
        try scene.database("phone.db").run("UPDATE buckets SET name = 'four'")
        try scene.succeed("export phone.db")
        try scene.expectFinding("notice", "devices", "phone.db", exit: 0, saying: ["watch (reader) is 1 version behind"])
        try scene.expectFinding(
            "notice", "version", "watch.db", exit: 0, saying: ["version 3 is here, 1 behind the newest"], remedy: "snapsync sync watch.db")
        try CloudForgery.ageReport(scene.scratch.path(scene.newest("devices/watch")), days: 8)
        try scene.expectFinding("warning", "devices", "phone.db", exit: 75, saying: ["watch (reader) is 1 version behind", "silent for 8 d"])
    }
}
