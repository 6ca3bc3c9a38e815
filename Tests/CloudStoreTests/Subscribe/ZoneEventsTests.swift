import CloudStore
import RecordZones
import DirectoryCloud
import Foundation
import StrictText
import Synchronization
import TestSupport
import Testing

/// What the file system tells of a zone's directory.
@Suite(.timeLimit(.minutes(60))) struct ZoneEventsTests {
    private final class Heard: Sendable {
        private let hints = Mutex<[ZoneHint]>([])
        func add(_ hint: ZoneHint) { hints.withLock { $0.append(hint) } }
        var all: [ZoneHint] { hints.withLock { $0 } }
        func waits(for hint: ZoneHint) async throws {
            try await Eventually.holds("\(hint) is heard", explain: { "\(all)" }) { all.contains(hint) }
        }
    }

    private func zone(_ scratch: TestSupport.ScratchDirectory) async throws -> (CloudZone, folder: String) {
        let cloud = try DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example")
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .one)
        return (CloudZone(.standard, of: cloud, as: "writer"), "cloud/\(ZoneID.standard)")
    }

    @Test func everyCommitIsHeardByItsNumber() async throws {
        let scratch = try TestSupport.ScratchDirectory(), heard = Heard()
        let (zone, _) = try await zone(scratch)
        let events = ZoneEvents(cloud: scratch.path("cloud"), zone: .standard) { heard.add($0) }
        #expect(events.arm() == nil)
        for number in 1...3 {
            try await zone.save(CloudRecord(type: "Item", name: "item\(number)", fields: [:]))
            try await heard.waits(for: .commit(number))
        }
        // Arming again adds nothing that would be told twice.
        #expect(events.arm() == nil)
        #expect(Set(heard.all) == [.commit(1), .commit(2), .commit(3)])
    }

    @Test func filesThatAreNoCommitsAreNotHeard() async throws {
        let scratch = try TestSupport.ScratchDirectory(), heard = Heard()
        let (zone, folder) = try await zone(scratch)
        let events = ZoneEvents(cloud: scratch.path("cloud"), zone: .standard) { heard.add($0) }
        _ = events.arm()
        for name in ["00000000000000000009.sync-conflict-1.json", ".tmp-1", "9.json", "00000000000000000009 (Conflicted Copy).json"] {
            try scratch.write("{}", to: "\(folder)/commits/\(name)")
        }
        try await zone.save(CloudRecord(type: "Item", name: "item", fields: [:]))
        try await heard.waits(for: .commit(1))
        #expect(Set(heard.all) == [.commit(1)])
    }

    @Test func mailboxThatComesLaterIsHeardOnceItIsArmed() async throws {
        let scratch = try TestSupport.ScratchDirectory(), heard = Heard()
        let (_, folder) = try await zone(scratch)
        try? FileManager.default.removeItem(atPath: scratch.path("\(folder)/messages"))
        let events = ZoneEvents(cloud: scratch.path("cloud"), zone: .standard) { heard.add($0) }
        _ = events.arm()
        try FileManager.default.createDirectory(atPath: scratch.path("\(folder)/messages/phone"), withIntermediateDirectories: true)
        try await heard.waits(for: .anything)
        _ = events.arm()
        try scratch.write("{}", to: "\(folder)/messages/phone/\(String(repeating: "a", count: 32)).json")
        try await heard.waits(for: .message(from: "phone"))
    }

    @Test func cloudThatGoesAndComesBackIsHeard() async throws {
        let scratch = try TestSupport.ScratchDirectory(), heard = Heard()
        let (zone, _) = try await zone(scratch)
        let events = ZoneEvents(cloud: scratch.path("cloud"), zone: .standard) { heard.add($0) }
        _ = events.arm()
        try FileManager.default.moveItem(atPath: scratch.path("cloud"), toPath: scratch.path("away"))
        try await heard.waits(for: .anything)
        _ = events.arm()
        // The same directories elsewhere are nobody's business any more.
        let before = heard.all.count
        try scratch.write("{}", to: "away/\(ZoneID.standard)/commits/00000000000000000001.json")
        try FileManager.default.removeItem(atPath: scratch.path("away/\(ZoneID.standard)/commits/00000000000000000001.json"))
        try FileManager.default.moveItem(atPath: scratch.path("away"), toPath: scratch.path("cloud"))
        try await Eventually.holds("the return is heard") { heard.all.count > before }
        #expect(!heard.all.contains(.commit(1)))
        _ = events.arm()
        try await zone.save(CloudRecord(type: "Item", name: "item", fields: [:]))
        try await heard.waits(for: .commit(1))
    }

    @Test func cloudThatIsNotThereYetIsHeardWhenItComes() async throws {
        let scratch = try TestSupport.ScratchDirectory(), heard = Heard()
        let events = ZoneEvents(cloud: scratch.path("cloud"), zone: .standard) { heard.add($0) }
        #expect(events.arm() == nil)
        _ = try await zone(scratch)
        try await heard.waits(for: .anything)
    }
}
