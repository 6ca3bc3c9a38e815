import CloudStore
import DirectoryCloud
import Foundation
import StrictText
import TestSupport
import Testing

/// A directory is a cloud, another cloud, or none, and nothing is written where it is not the one that was opened.
@Suite struct DirectoryIdentityTests {
    private let container = "iCloud.org.example.test"

    @Test func aCloudIsMadeOnceAndOpenedAgain() async throws {
        let scratch = try ScratchDirectory()
        let path = "\(scratch.path)/new"
        let first = try await DirectoryCloud.create(at: path, container: container).identity()
        #expect(first.formatVersion == 1 && first.container == container && UUID(uuidString: first.uuid)?.uuidString.lowercased() == first.uuid)
        #expect(try await DirectoryCloud.create(at: path, container: "iCloud.org.example.other").identity() == first)
        #expect(try await DirectoryCloud(path: path).identity() == first)
        #expect(try await DirectoryCloud(path: path, expecting: first.uuid).identity() == first)
    }

    @Test func aHundredAtOnceMakeOneCloud() async throws {
        let scratch = try ScratchDirectory()
        let container = container
        let found = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 {
                group.addTask { try await DirectoryCloud.create(at: "\(scratch.path)/new", container: container).identity().uuid }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(found.count == 1)
        #expect(try scratch.tree() == ["new", "new/cloud.json"])
    }

    @Test func onlyAnEmptyDirectoryBecomesACloud() async throws {
        let scratch = try ScratchDirectory()
        try scratch.write([], to: ".stfolder")
        try FileManager.default.createDirectory(atPath: "\(scratch.path)/lost+found", withIntermediateDirectories: false)
        try scratch.write([1], to: "holiday.jpg")
        await expectCloudError(.notACloud) { try DirectoryCloud.create(at: scratch.path, container: container) }
        #expect(!scratch.exists("cloud.json"))
        try scratch.remove("holiday.jpg")
        _ = try DirectoryCloud.create(at: scratch.path, container: container)
    }

    @Test func aPathThatIsNoDirectoryIsUnavailable() async throws {
        let scratch = try ScratchDirectory()
        try scratch.write([], to: "file")
        for path in ["none", "file", "none/deeper", "file/deeper"] {
            let error = await expectCloudError(.cloudUnavailable) { try DirectoryCloud(path: "\(scratch.path)/\(path)") }
            #expect(error?.isRetryable == true && error?.place == "\(scratch.path)/\(path)")
        }
        await expectCloudError(.cloudUnavailable) { try DirectoryCloud.create(at: "\(scratch.path)/none/deeper", container: container) }
        await expectCloudError(.cloudUnavailable) { try DirectoryCloud.create(at: "\(scratch.path)/file", container: container) }
        #expect(try scratch.tree() == ["file"])
    }

    @Test func aDirectoryWithoutMarkerIsNoCloudOrAnUnmountedOne() async throws {
        let scratch = try ScratchDirectory()
        await expectCloudError(.notACloud) { try DirectoryCloud(path: scratch.path) }
        await expectCloudError(.cloudUnavailable) { try DirectoryCloud(path: scratch.path, expecting: UUID().uuidString.lowercased()) }
    }

    @Test func anotherUUIDIsAnotherCloud() async throws {
        let scratch = try ScratchDirectory()
        _ = try DirectoryCloud.create(at: scratch.path, container: container)
        await expectCloudError(.badContainer) { try DirectoryCloud(path: scratch.path, expecting: UUID().uuidString.lowercased()) }
    }

    @Test func aContainerIdentifierIsAReverseName() async throws {
        let scratch = try ScratchDirectory()
        for container in ["", "org.example", "iCloud.", "iCloud..x", "iCloud.a b", "iCloud.a/../b", "icloud.org.example", "iCloud.é"] {
            await expectCloudError(.invalidArguments) { try DirectoryCloud.create(at: scratch.path, container: container) }
        }
        #expect(try scratch.tree().isEmpty)
    }

    @Test(arguments: ["formatVersion\":2,\"shape\":[1]", "formatVersion\":1000"])
    func aNewerFormatAsksForAnUpdate(_ version: String) async throws {
        let scratch = try ScratchDirectory()
        try scratch.write(Array("{\"\(version)}".utf8), to: "cloud.json")
        let error = await expectCloudError(.incompatibleVersion) { try DirectoryCloud(path: scratch.path) }
        #expect(error?.hint?.contains("update") == true)
        let test = try DirectoryUnderTest()
        try await test.zone()
        try test.scratch.write(Array("{\"\(version)}".utf8), to: "\(DirectoryUnderTest.zonePath)/zone.json")
        await expectCloudError(.incompatibleVersion) { try await test.cloud.zone(.standard) }
    }

    @Test(arguments: [
        "", "{", "[]", "{\"formatVersion\":0}", "{\"formatVersion\":1}", "{\"formatVersion\":\"1\"}",
        #"{"container":"iCloud.a","formatVersion":1,"formatVersion":1,"uuid":"00000000-0000-4000-8000-000000000000"}"#,
        #"{"container":"iCloud.a","formatVersion":1,"uuid":"../.."}"#,
        #"{"container":"iCloud.a/..","formatVersion":1,"uuid":"00000000-0000-4000-8000-000000000000"}"#,
    ])
    func aDamagedMarkerIsDamage(_ text: String) async throws {
        let scratch = try ScratchDirectory()
        try scratch.write(Array(text.utf8), to: "cloud.json")
        // A beginning of a file that is young counts as still arriving.
        if text == "" || text == "{" {
            await expectCloudError(.pending) { try DirectoryCloud(path: scratch.path) }
            await expectCloudError(.pending) { try DirectoryCloud.create(at: scratch.path, container: container) }
        }
        try FileManager.default.setModification(secondsAgo: 3600, ofItemAtPath: scratch.path("cloud.json"))
        await expectCloudError(.damaged) { try DirectoryCloud(path: scratch.path) }
        await expectCloudError(.damaged) { try DirectoryCloud.create(at: scratch.path, container: container) }
    }

    @Test func featuresAndRulesOfALaterVersionAskForAnUpdate() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        for text in [
            #"{"creator":"writer","features":["tensors"],"formatVersion":1,"publishers":"one"}"#,
            #"{"creator":"writer","features":[],"formatVersion":1,"publishers":"elected"}"#,
        ] {
            try test.scratch.write(Array(text.utf8), to: "\(DirectoryUnderTest.zonePath)/zone.json")
            await expectCloudError(.incompatibleVersion) { try await test.cloud.changes(since: nil, in: .standard) }
            await expectCloudError(.incompatibleVersion) { try await test.save(1, after: nil) }
        }
        // A name that is none is damage.
        let text = #"{"creator":"\u001b[2J","features":[],"formatVersion":1,"publishers":"one"}"#
        try test.scratch.write(Array(text.utf8), to: "\(DirectoryUnderTest.zonePath)/zone.json")
        await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
    }

    @Test func anUnmountedDirectoryIsNotTouched() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        let token = try await test.save(1, after: nil)
        let draft = CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: "item", fields: [:])], clock: .now)
        let prepared = try await test.cloud.prepare(draft, after: token, in: .standard)
        let writer = try await test.cloud.newAsset(for: "item", number: 2, kind: .snapshot, in: .standard)
        let marker = try test.scratch.bytes("cloud.json")
        try test.scratch.remove("cloud.json")
        // Where files have temporary names, the asset's is dropped: that is ours, and no change that anybody sees.
        let seen = { try test.scratch.tree().filter { !$0.contains("/.snapsync-") } }
        let tree = try seen()

        await expectCloudError(.cloudUnavailable) { try await test.cloud.publish(prepared) }
        await expectCloudError(.cloudUnavailable) { try writer.finish(rawByteCount: 0) }
        await expectCloudError(.cloudUnavailable) { try await test.cloud.prepare(draft, after: token, in: .standard) }
        await expectCloudError(.cloudUnavailable) { try await test.cloud.createZone(ZoneID("B"), creator: "writer", publishers: .one) }
        await expectCloudError(.cloudUnavailable) { try await test.cloud.identity() }
        await expectCloudError(.cloudUnavailable) {
            try await test.cloud.report(DeviceReport(device: "d", role: "reader", token: nil, clock: .now), in: .standard)
        }
        await expectCloudError(.cloudUnavailable) { try await test.cloud.changes(since: token, in: .standard) }
        #expect(try seen() == tree)

        try test.scratch.write(marker, to: "cloud.json")
        #expect(try await test.cloud.publish(prepared).number == 2)
    }

    @Test func aDirectorySwappedForAnotherCloudIsNotTouched() async throws {
        let test = try DirectoryUnderTest(), other = try DirectoryUnderTest()
        try await test.zone()
        try await other.zone()
        let token = try await test.save(1, after: nil)
        try await other.save(1, after: nil)
        let draft = CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: "item", fields: [:])], clock: .now)
        let prepared = try await test.cloud.prepare(draft, after: token, in: .standard)
        try FileManager.default.moveItem(atPath: test.scratch.path, toPath: test.scratch.path + ".away")
        defer { try? FileManager.default.removeItem(atPath: test.scratch.path + ".away") }
        try FileManager.default.moveItem(atPath: other.scratch.path, toPath: test.scratch.path)
        let tree = try test.scratch.tree()
        await expectCloudError(.badContainer) { try await test.cloud.publish(prepared) }
        await expectCloudError(.badContainer) { try await test.cloud.changes(since: token, in: .standard) }
        #expect(try test.scratch.tree() == tree)
    }

    @Test func aZoneWhoseMarkerHasNotArrivedIsNotMadeAgain() async throws {
        let test = try DirectoryUnderTest()
        try await test.zone()
        try await test.save(1, after: nil)
        try test.scratch.remove("\(DirectoryUnderTest.zonePath)/zone.json")
        await expectCloudError(.zoneNotFound) { try await test.cloud.zone(.standard) }
        let error = await expectCloudError(.pending) { try await test.cloud.createZone(.standard, creator: "other", publishers: .one) }
        #expect(error?.isRetryable == true)
        #expect(!test.scratch.exists("\(DirectoryUnderTest.zonePath)/zone.json"))
    }
}
