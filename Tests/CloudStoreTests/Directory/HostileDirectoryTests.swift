import CloudStore
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import TestSupport
import Testing

/// A directory that anyone may write to: nothing in it makes a reader leave it, hang, or believe what was not published.
@Suite struct HostileDirectoryTests {
    private let commits = "\(DirectoryUnderTest.zonePath)/commits"

    private func two() async throws -> (DirectoryUnderTest, [ChangeToken]) {
        let test = try DirectoryUnderTest()
        try await test.zone()
        return (test, try await test.history(of: 2))
    }

    @Test func linksFIFOsAndDirectoriesInPlaceOfACommitAreDamage() async throws {
        let (test, tokens) = try await two()
        let path = "\(test.scratch.path)/\(commits)/\(twentyDigits(3)).json"
        let outside = try ScratchDirectory()
        try outside.write(try test.scratch.bytes("\(commits)/\(twentyDigits(2)).json"), to: "commit")
        let stand: [(String) -> Int32] = [
            { symlink("\(outside.path)/commit", $0) }, { symlink("nowhere", $0) }, { symlink("\(twentyDigits(2)).json", $0) },
            { mkfifo($0, 0o600) }, { mkdir($0, 0o700) },
        ]
        for make in stand {
            #expect(make(path) == 0)
            await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[1], in: .standard) }
            await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
            // A publisher does not publish over it either.
            await expectCloudError(.serverRecordChanged) { try await test.save(3, after: tokens[1]) }
            try test.scratch.remove("\(commits)/\(twentyDigits(3)).json")
        }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == tokens[1])
    }

    @Test func aCommitLargerThanAnyIsNotRead() async throws {
        let (test, tokens) = try await two()
        try test.scratch.write([UInt8](repeating: 0, count: 64 << 20), to: "\(commits)/\(twentyDigits(3)).json")
        let calls = FaultyFileSystem()
        let cloud = try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
        await expectCloudError(.damaged) { try await cloud.changes(since: tokens[1], in: .standard) }
        func count(of name: String) -> Int { calls.calls.count { $0.name == name && $0.target.hasSuffix("\(twentyDigits(3)).json") } }
        #expect(count(of: "open") > 0 && count(of: "read") == 0)
    }

    /// Anyone may lay a file whose number is the largest integer there; nobody who counts on from it ends by that.
    @Test(arguments: ["commits", "checkpoints", "devices/watch"])
    func aNumberBeyondAllOthersIsNone(_ folder: String) async throws {
        let (test, tokens) = try await two()
        let report = DeviceReport(device: "watch", role: "reader", token: tokens[1], clock: .now)
        try await test.cloud.report(DeviceReport(device: "watch", role: "reader", token: tokens[0], clock: .now), in: .standard)
        for number in [String(Int.max), String(Int.max - 1), "1000000000000000000"] {
            let name = String(repeating: "0", count: 20 - number.count) + number
            try test.scratch.write(Array("{}".utf8), to: "\(DirectoryUnderTest.zonePath)/\(folder)/\(name).json")
        }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == tokens[1])
        #expect(try await test.cloud.changes(since: tokens[0], in: .standard).token == tokens[1])
        #expect(try await DirectoryCloud(path: test.scratch.path).damagedDocuments(in: .standard, knowing: tokens[1]).isEmpty)
        try await test.cloud.report(report, in: .standard)
        #expect(try await test.cloud.deviceReports(in: .standard) == [report])
        #expect(try await test.save(3, after: tokens[1]).number == 3)
    }

    /// The largest number that counts is a number: a commit of that name is damage, and a report of it gives way to the first free one.
    @Test func theLargestNumberThatCountsIsFollowedByNone() async throws {
        let (test, tokens) = try await two()
        let name = "00\(CloudNames.largestNumber).json"
        try await test.cloud.report(DeviceReport(device: "watch", role: "reader", token: nil, clock: .now), in: .standard)
        try test.scratch.write(Array("{}".utf8), to: "\(DirectoryUnderTest.zonePath)/devices/watch/\(name)")
        for token in tokens {
            let report = DeviceReport(device: "watch", role: "reader", token: token, clock: .now)
            try await test.cloud.report(report, in: .standard)
            #expect(try await test.cloud.deviceReports(in: .standard) == [report])
        }
        #expect(!test.scratch.exists("\(DirectoryUnderTest.zonePath)/devices/watch/\(name)"))
        try test.scratch.write(Array("{}".utf8), to: "\(commits)/\(name)")
        await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
        let damaged = try await DirectoryCloud(path: test.scratch.path).damagedDocuments(in: .standard, knowing: tokens[1])
        #expect(damaged.map(\.number) == [CloudNames.largestNumber] && damaged.allSatisfy { $0.mended == nil })
    }

    @Test func aFIFOInPlaceOfAnEmptyAssetIsDamage() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let asset = try await test.asset([])
        let path = "\(DirectoryUnderTest.zonePath)/\(asset.path)"
        try test.scratch.remove(path)
        #expect(mkfifo("\(test.scratch.path)/\(path)", 0o600) == 0)
        await expectCloudError(.damaged) { try await test.cloud.openAsset(asset, in: .standard) }
    }

    @Test(arguments: [Backend.directory, .directoryStepByStep])
    func aLinkedDirectoryIsNotFollowed(_ backend: Backend) async throws {
        let test = try #require(try backend.make() as? DirectoryUnderTest)
        try await test.zone()
        let token = try await test.save(try await test.asset([1, 2, 3]))
        let outside = try ScratchDirectory()
        for name in ["commits", "assets", "assets/item"] {
            let path = "\(test.scratch.path)/\(DirectoryUnderTest.zonePath)/\(name)"
            try FileManager.default.moveItem(atPath: path, toPath: "\(outside.path)/moved")
            #expect(symlink("\(outside.path)/moved", path) == 0)
            let before = try outside.tree()
            if name == "commits" {
                await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
                await expectCloudError(.damaged) { try await test.save(2, after: token) }
            } else {
                let asset = try #require(try await test.cloud.records(in: .standard).record("item")?.assets.first)
                await expectCloudError(.damaged) { try await test.cloud.openAsset(asset, in: .standard) }
                await expectCloudError(.damaged) { try await test.asset([4], number: 2) }
                await test.cloud.discard([asset], in: .standard)
            }
            #expect(try outside.tree() == before)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: "\(outside.path)/moved", toPath: path)
        }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == token)
    }

    @Test func namesOfSyncToolsAndEditorsAreIgnored() async throws {
        let (test, tokens) = try await two()
        let bytes = try test.scratch.bytes("\(commits)/\(twentyDigits(2)).json")
        for name in [
            "00000000000000000003.sync-conflict-20260101-120000-ABCDEFG.json", "00000000000000000003 (Conflicted Copy).json",
            "00000000000000000003.json~", ".00000000000000000003.json.swp", "3.json", "+0000000000000000003.json", "0000000000000000000٣.json",
            "99999999999999999999.json", "00000000000000000000.json", "000000000000000000003.json", ".snapsync-0123.tmp", "00000000000000000003.JSON",
        ] { try test.scratch.write(bytes, to: "\(commits)/\(name)") }
        #expect(mkdir("\(test.scratch.path)/\(DirectoryUnderTest.zonePath)/devices/.stversions", 0o700) == 0)
        #expect(mkdir("\(test.scratch.path)/private/.trash", 0o700) == 0)
        try test.scratch.write(bytes, to: "private/note.txt")
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == tokens[1])
        #expect(try await test.cloud.zones().count == 1)
        #expect(try await test.cloud.deviceReports(in: .standard).isEmpty)
        #expect(try await test.save(3, after: tokens[1]).number == 3)
    }

    @Test(arguments: [
        "../../../outside", "/etc/passwd", "assets/item/../../zone.json", "assets/../../x/00000000000000000001-0a1b2c3d.json.gz",
        "assets/other/00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000003-0a1b2c3d.json.gz", "commits/00000000000000000001.json",
        "assets/item/x.json.gz", "", "assets//00000000000000000002-0a1b2c3d.json.gz", "assets/item/00000000000000000002-0A1B2C3D.json.gz",
        "assets/item/00000000000000000002-0a1b2c3d.json.gz/x",
    ])
    func aCommitWithAPathThatIsNotItsOwnIsDamage(_ path: String) async throws {
        let asset: [String: Any] = ["path": path, "size": 1, "rawSize": 1, "sha256": String(repeating: "0", count: 64)]
        try await expectForged(.damaged) { commit in
            commit["saved"] = [["name": "item", "type": "Item", "fields": ["dataFile": ["type": "asset", "value": asset]]]]
        }
    }

    @Test func impossibleCommitsAreDamage() async throws {
        try await expectForged(.damaged) { $0["number"] = 3 }
        try await expectForged(.damaged) { $0["number"] = 1.5 }
        try await expectForged(.damaged) { $0["parent"] = nil }
        try await expectForged(.damaged) { $0["parent"] = String(repeating: "0", count: 64) }
        try await expectForged(.damaged) { $0["zone"] = "public/ZentikSyncZone" }
        try await expectForged(.damaged) { $0["cloud"] = UUID().uuidString.lowercased() }
        try await expectForged(.damaged) { $0["device"] = "../x" }
        try await expectForged(.damaged) { $0["deleted"] = ["item1", "item1"] }
        try await expectForged(.damaged) { $0["deleted"] = ["../.."] }
        try await expectForged(.damaged) { $0["timestamp"] = "2999-01-01T00:00:00.000Z" }
        try await expectForged(.damaged) { $0["clock"] = "1970-01-01T00:00:00.000Z" }
        try await expectForged(.damaged) { $0["clock"] = "2026-02-30T00:00:00.000Z" }
        try await expectForged(.damaged) { $0["checkpoint"] = ["number": 2, "sha256": String(repeating: "0", count: 64)] }
        try await expectForged(.damaged) { $0["saved"] = [["name": "a", "type": "Item", "fields": ["f": ["type": "integer", "value": "5"]]]] }
        try await expectForged(.damaged) { $0["saved"] = [["name": "a", "type": "Item", "fields": ["f": ["type": "integer", "value": 1e30]]]] }
        try await expectForged(.damaged) { $0["parent"] = "x" }
        try await expectForged(.damaged) { $0["timestamp"] = "2000-01-01T00:00:00.000Z" }
        try await expectForged(.damaged) { $0["device"] = "phone\u{1B}[31m" }
        try await expectForged(.damaged) { $0["nonce"] = nil }
        try await expectForged(.damaged) { $0["saved"] = "none" }
        try await expectForged(.damaged) { $0["answered"] = [String: Int]() }
        for number in [0, UInt64(Int64.max) + 1] { try await expectForged(.damaged) { $0["answered"] = ["watch": number] } }
        try await expectForged(.damaged) { $0["answered"] = ["../watch": 5] }
        try await expectForged(nil) { $0["answered"] = ["watch": 5] }
    }

    @Test func impossibleRecordsOfACommitAreDamage() async throws {
        func saved(_ change: [String: Any] = [:], name: String = "a", type: String = "Item", count: Int = 1) -> [[String: Any]] {
            let path = "assets/a/00000000000000000002-0a1b2c3d.json.gz", zeros = String(repeating: "0", count: 64)
            let asset: [String: Any] = ["path": path, "size": 1, "rawSize": 1, "sha256": zeros, "index": ["size": 1, "sha256": zeros]]
            let value: [String: Any] = ["type": "asset", "value": asset.merging(change) { $1 }]
            return [["name": name, "type": type, "fields": ["f": ["type": "list", "value": Array(repeating: value, count: count)]]]]
        }
        try await expectForged(nil) { $0["saved"] = saved() }
        try await expectForged(.damaged) { $0["saved"] = saved() + saved() }
        try await expectForged(.damaged) { commit in
            commit["saved"] = saved()
            commit["deleted"] = ["a"]
        }
        for name in ["../x", "a\u{1B}[2J"] { try await expectForged(.damaged) { $0["saved"] = saved(name: name) } }
        try await expectForged(.damaged) { $0["saved"] = saved(type: "\n") }
        // Sizes are added up somewhere: none may make the sum too large for a number.
        for size in [-1, Int.max] { try await expectForged(.damaged) { $0["saved"] = saved(["size": size]) } }
        try await expectForged(.damaged) { $0["saved"] = saved(["rawSize": Int.max]) }
        try await expectForged(.damaged) { $0["saved"] = saved(["size": 1 << 62], count: 4) }
        try await expectForged(.damaged) { $0["saved"] = saved(["sha256": "zz"]) }
        try await expectForged(.damaged) { $0["saved"] = saved(["index": ["size": 1 << 40, "sha256": String(repeating: "0", count: 64)]]) }
    }

    @Test func whatALaterVersionAddsIsIgnoredOrAsksForAnUpdate() async throws {
        try await expectForged(nil) { $0["mood"] = ["calm": true] }
        try await expectForged(.incompatibleVersion) { $0["requires"] = ["tensors"] }
        try await expectForged(.incompatibleVersion) { commit in
            commit["requires"] = ["tensors"]
            commit["saved"] = nil
        }
        try await expectForged(.incompatibleVersion) {
            $0["saved"] = [["name": "a", "type": "Item", "fields": ["f": ["type": "list", "value": [["type": "tensor", "value": 1]]]]]]
        }
    }

    @Test func textThatIsNotStrictJSONIsDamage() async throws {
        let (test, tokens) = try await two()
        let deep = String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000)
        for text in ["{}", "{\"number\":2,\"number\":2}", deep, "\u{FEFF}{}", "{\"a\":\"\\ud800\"}", "nul", "{\"approvals\":[],}"] {
            try test.scratch.write(seal(Data(text.utf8)), to: "\(commits)/\(twentyDigits(2)).json")
            await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[0], in: .standard) }
        }
        try test.scratch.write(seal(Data([0x22, 0xFF, 0x22])), to: "\(commits)/\(twentyDigits(2)).json")
        await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[0], in: .standard) }
    }

    @Test func aDamagedReportGivesWayToAnOlderOne() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let folder = "\(DirectoryUnderTest.zonePath)/devices/phone"
        let report = DeviceReport(device: "phone", role: "reader", token: nil, clock: .now)
        try await test.cloud.report(report, in: .standard)
        try test.scratch.write(Array("{}".utf8), to: "\(folder)/\(twentyDigits(7)).json")
        #expect(try await test.cloud.deviceReports(in: .standard) == [report])
        let news = DeviceReport(device: "phone", role: "peer", token: nil, clock: .now)
        try await test.cloud.report(news, in: .standard)
        #expect(try await test.cloud.deviceReports(in: .standard) == [news])
        #expect(try test.scratch.tree().filter { $0.hasPrefix("\(folder)/") } == ["\(folder)/\(twentyDigits(8)).json"])
    }

    /// Changes commit 2 of 2 as an attacker would, and expects that code, or none, from a reader at commit 1.
    private func expectForged(
        _ code: CloudError.Code?, sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout [String: Any]) -> Void
    ) async throws {
        let (test, tokens) = try await two()
        let path = "\(commits)/\(twentyDigits(2)).json"
        try test.scratch.write(try reseal(try test.scratch.bytes(path), change), to: path)
        guard let code else {
            #expect(try await test.cloud.changes(since: tokens[0], in: .standard).commits.count == 1, sourceLocation: sourceLocation)
            return
        }
        await expectCloudError(code, sourceLocation: sourceLocation) { try await test.cloud.changes(since: tokens[0], in: .standard) }
        await expectCloudError(code, sourceLocation: sourceLocation) { try await test.cloud.changes(since: nil, in: .standard) }
    }
}
