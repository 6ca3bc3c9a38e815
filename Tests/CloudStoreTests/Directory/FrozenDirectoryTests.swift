import CloudStore
import RecordZones
import DirectoryCloud
import Foundation
import StrictText
import TestSupport
import Testing

/// A directory that an early version wrote, `Fixtures/cloud-1`, is read and gone on from.
struct FrozenDirectoryTests {
    private func open() throws -> (scratch: ScratchDirectory, cloud: DirectoryCloud) {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Fixtures/cloud-1")
        let scratch = try ScratchDirectory()
        for name in ["cloud.json", "private"] {
            try FileManager.default.copyItem(at: fixture.appending(path: name), to: URL(fileURLWithPath: "\(scratch.path)/\(name)"))
        }
        return (scratch, try DirectoryCloud(path: scratch.path))
    }

    @Test func recordsBehindAnEarlyCheckpointAreRead() async throws {
        let (scratch, cloud) = try open()
        let zone = CloudZone(.standard, of: cloud, as: "reader")
        let changes = try await zone.changes(since: nil)
        #expect(changes.token?.number == 18)
        #expect(changes.changed.map(\.name) == ["buckets_data", "notifications_data"])
        // Who made the record stands in no file that is left; it is not made up.
        #expect(changes.changed.allSatisfy { $0.creation == nil })
        #expect(changes.changed.last?.modification?.device == "writer")
        #expect(changes.changed.last?.fields["recordCount"] == .integer(1))
        #expect(scratch.exists("cloud.json"))
    }

    @Test func theHistoryGoesOnFromIt() async throws {
        let (scratch, cloud) = try open()
        let zone = CloudZone(.standard, of: cloud, as: "writer")
        for number in 0..<20 {
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["n": .integer(Int64(number)), "b": .bytes(Data([1]))]), savePolicy: .allKeys)
        }
        try scratch.remove("private/ZentikSyncZone/checkpoints/\(twentyDigits(16)).json")
        let reader = CloudZone(.standard, of: cloud, as: "reader")
        let item = try await reader.record("item"), early = try await reader.record("buckets_data")
        #expect(item.creation?.device == "writer" && item.changeTag == "38")
        #expect(early.creation == nil && early.modification == nil)
        #expect(try await cloud.records(in: .standard).token?.number == 38)
    }
}
