import Foundation
import TestSupport
import Testing

/// `snapsync status` writes one page that says how databases and clouds are.
@Suite(.runsPrograms) struct PageTests {
    @Test func pageSaysHowADatabaseIs() throws {
        let scene = try Scene.phoneAndWatch(notifications: 30, buckets: 4)
        try scene.publishMore(3)
        try scene.database("phone.db").run("UPDATE notifications SET title = 'new' WHERE id IN (SELECT id FROM notifications LIMIT 2)")
        try scene.database("watch.db").run("UPDATE notifications SET readAt = '2026-11-20T10:00:00Z' WHERE id = (SELECT min(id) FROM notifications)")
        try scene.succeed("pin phone.db 2 --name first")
        let page = try scene.page("phone.db"), words = try page.words()
        #expect(words.contains("Sync report: phone.db All is well."), "\(words)")
        // What the commands print is on the page, line by line; ages differ.
        func squeezed(_ text: some StringProtocol) -> String { text.split(separator: " ").joined(separator: " ") }
        for command in ["check", "status", "log", "pending"] {
            for line in try scene.succeed("\(command) phone.db").split(separator: "\n") where !line.contains(" ago") && !line.contains(" ok (-v") {
                #expect(words.contains(squeezed(line)), "\(command): \(line): \(words)")
            }
        }
        #expect(page.text.contains("<span class=\"attention\">notice: devices: watch"), "\(page.text)")
        let verdict = try scene.json("status phone.db --html page.html")
        #expect(verdict["severity"] as? String == "notice" && verdict["verdict"] as? String == "All is well.")
        #expect(verdict["size"] as? Int == (try scene.scratch.read("page.html").count))
        // To look changes nothing, in the cloud or in the database.
        let before = try scene.cloudListing(), rows = try scene.database("phone.db").run(".dump")
        _ = try scene.page("phone.db --also cloud")
        #expect(try scene.cloudListing() == before && scene.database("phone.db").run(".dump") == rows)
    }

    @Test func severalCloudsStandOnOnePage() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("copy cloud other")
        let page = try scene.page("watch.db --also cloud --also other --also nowhere", exit: 69)
        let words = try page.words()
        #expect(words.contains("Sync report: 4 zones 1 error in nowhere: nowhere: the directory cannot be opened: No such file or directory."), "\(words)")
        #expect(page.text.components(separatedBy: "<h2").count == 5)
        let report = try scene.run("status cloud --html page.html --json --also nowhere")
        let json = try #require(try JSONSerialization.jsonObject(with: report.output) as? [String: Any])
        #expect(report.status == 69 && json["severity"] as? String == "error" && (json["zones"] as? [Any])?.count == 2)
        // The environment names what no flag does.
        let run = try scene.run("status --html page.html", environment: ["SNAPSYNC_LOCATION": "other"])
        #expect(run.status == 0 && run.text.contains("All is well."), "\(run.errorText)")
    }

    @Test func zoneThatIsDamagedReplacedOrOffIsTold() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.publishMore(1)
        try scene.succeed("config set watch.db sync off")
        let off = try scene.page("watch.db").words()
        #expect(off.contains("this database is not synced") && !off.contains("History"), "\(off)")
        let asset = try scene.asset("notifications")
        try scene.scratch.write(Data(try scene.scratch.read(asset).dropLast(3)), to: asset)
        try scene.age()
        let words = try scene.page("phone.db").words()
        #expect(words.contains("Sync report: phone.db 1 error: 1 file of version 2 has another size than its commit says"), "\(words)")

        let replaced = try Scene()
        try replaced.versionsOfOneNumber()
        let other = try replaced.page("laptop.db", exit: 65).words()
        #expect(other.contains("the commit there is not the one that this device has read"), "\(other)")
    }

    @Test func signedZoneSaysWhoSignsAndWhoAsks() throws {
        try #require(SignedScene.isAvailable)
        let scene = try SignedScene.phoneAndWatch()
        let run = try scene.run("status phone.db --html page.html")
        try #require(run.status == 0, "\(run.errorText)")
        let words = try PageFile(scene.scene.scratch.path("page.html")).words()
        #expect(words.contains("Members zone ZentikSyncZone is signed; its creator is \(try scene.words("phone"))"), "\(words)")
        #expect(words.contains("watch asks to be a reader: \(try scene.words("watch"))"), "\(words)")
    }

    @Test func pageIsReplacedWholeAndKeepsItsPermissions() throws {
        let scene = try Scene.phone()
        _ = try scene.page("phone.db")
        func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: scene.scratch.path("page.html"))[.posixPermissions] as? Int }
        #expect(try mode() == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: scene.scratch.path("page.html"))
        if TracedRun.isPossible {
            let run = try TracedRun(
                BuiltCommand.path(), ["status", "phone.db", "--html", "page.html"], calls: "fsync,rename,renameat,renameat2", in: scene.scratch.path)
            #expect(run.run.status == 0, "\(run.run.errorText)")
            let calls = run.calls.filter { $0.text.contains("page.html") || $0.text.contains("\(scene.scratch.path)>") }
            #expect(calls.map { $0.name.prefix(6) } == ["fsync", "rename", "fsync"], "\(calls)")
        }
        #expect(try scene.run("status phone.db --html page.html").status == 0 && mode() == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: scene.scratch.path).allSatisfy { !$0.hasSuffix(".tmp") })
        // Where it cannot be written, the old page stays.
        let before = try scene.scratch.read("page.html")
        try FileManager.default.createDirectory(atPath: scene.scratch.path("folder/page.html"), withIntermediateDirectories: true)
        let refused = try scene.run("status phone.db --html folder/page.html")
        #expect(refused.status == 74 && refused.errorText.contains("cannot be put in place"), "\(refused.errorText)")
        #expect(try scene.run("status phone.db --html gone/page.html").status == 74)
        #expect(try scene.scratch.read("page.html") == before)
    }
}
