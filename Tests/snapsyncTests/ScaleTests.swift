import Foundation
import TestSupport
import Testing

/// What people read stays short however much there is; `--all` and JSON have the rest.
@Suite(.runsPrograms) struct ScaleTests {
    @Test func historyListsTheNewestTwentyAndCountsTheOthers() throws {
        let scene = try Scene.phone(notifications: 30, buckets: 1)
        try scene.publishMore(23)
        func versions(_ line: String) throws -> [String] {
            try scene.succeed(line).split(separator: "\n").filter { $0.hasPrefix("version ") }.map { String($0.split(separator: " ")[1]) }
        }
        #expect(try versions("log phone.db") == (5...24).reversed().map(String.init))
        #expect(try scene.succeed("log cloud").hasSuffix("\nand 4 older versions (--all)\n"))
        #expect(try versions("log phone.db --all").count == 24 && versions("log phone.db --limit 22").count == 22)
        #expect(try scene.succeed("log phone.db --limit 22").contains("older version") == false)
        #expect(try scene.versions().count == 24)
    }

    @Test func statusCountsTheDevicesThatHaveTheNewestData() throws {
        let scene = try Scene.phoneAndWatch()
        func devices(_ name: String, count: Int, like other: String) throws {
            let report = try scene.newest("devices/\(other)")
            let names = (0..<count).map { "\(name)\($0)" }
            try CloudForgery.copyReport(
                scene.scratch.path(report), as: names.map { ($0, scene.scratch.path(report.replacing("/\(other)/", with: "/\($0)/"))) })
        }
        try devices("old", count: 12, like: "watch")
        try scene.publishMore(2)
        try devices("new", count: 30, like: "phone")
        let text = try scene.succeed("status phone.db")
        #expect(text.components(separatedBy: "\n  device ").count == 11 && text.contains(", 2 behind, "))
        #expect(text.contains("\n  and 3 more that are behind (--all)\n  31 devices of 44 with the newest data (--all lists them)\n"), "\(text)")
        #expect(try scene.succeed("status phone.db --all").components(separatedBy: "\n  device ").count == 45)
        #expect((try scene.json("status phone.db")["devices"] as? [Any])?.count == 44)
    }

    @Test func devicesAreBehindByVersionsWithDataAlone() throws {
        let scene = try Scene.phoneAndWatch()
        try scene.succeed("pin phone.db 1 --name a")
        try scene.succeed("pin phone.db 1 --name b")
        func behind(_ database: String) throws -> [Int?] {
            let status = try scene.json("status \(database)")
            return [status["behind"] as? Int, status["newestVersion"] as? Int]
                + (try #require(status["devices"] as? [[String: Any]])).map { $0["behind"] as? Int }
        }
        #expect(try behind("watch.db") == [0, 3, 0, 0] && behind("phone.db") == [0, 3, 0, 0])
        #expect(try !scene.succeed("check phone.db").contains("behind"))
        try scene.publishMore(2)
        try scene.succeed("pin phone.db 1 --remove")
        #expect(try behind("watch.db") == [2, 6, 0, 2] && behind("phone.db") == [0, 6, 0, 2])
        try scene.sync("watch")
        #expect(try behind("watch.db") == [0, 6, 0, 0])
    }

    @Test func pruneSaysHowManyFilesGoAndWhyNoneDoes() throws {
        let scene = try Scene.phone(notifications: 5, buckets: 1)
        try scene.publishMore(5)
        #expect(
            try scene.succeed("prune phone.db --keep-last 1").contains(
                "\n  no version goes: version 1, the oldest, stays: its file is less than 1 d old\n"))
        try scene.age()
        #expect(
            try scene.succeed("prune phone.db --keep-last 9").contains(
                "\n  no version goes: version 1, the oldest, stays: the last 9 states of the data are kept\n"))
        #expect(
            try scene.succeed("prune phone.db --keep-within 2h").contains("\n  no version goes: version 1, the oldest, stays: versions are kept for 2 h\n")
        )
        let text = try scene.succeed("prune phone.db --keep-last 2 -n")
        #expect(text.contains("\n  assets/notifications_data: 8 files\n  commits: 4 files\n  (--all names them)\n"), "\(text)")
        let all = try scene.succeed("prune phone.db --keep-last 2 -n --all")
        #expect(all.components(separatedBy: "\n  assets/").count == 9 && all.contains("\n  commits/00000000000000000001.json\n"))
        let report = try scene.json("prune phone.db --keep-last 2 -n")
        #expect((report["removedFiles"] as? [String])?.count == 12 && report["reason"] == nil)
    }
}
