import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// Something else stands where the cloud was, from any one call of a sync on: another cloud, or an older copy of this one.
@Suite struct ChangedCloudTests {
    /// What is mounted in the cloud's place.
    enum Other: String, CaseIterable, Sendable { case anotherCloud, olderCopy }

    @Test(arguments: Other.allCases, [0, 1]) func cloudThatIsSwappedBetweenTwoCallsIsRefusedAndNothingChanges(_ other: Other, device: Int) async throws {
        let zone = try SimulatedZone(seed: 7)
        let uuid = try await zone.makeCloud(in: "/cloud", creator: "one", publishers: .many)
        _ = try await zone.makeCloud(in: "/anotherCloud", creator: "one", publishers: .many)
        for name in ["one", "two"] { try zone.addDevice(name, .peer, root: "/cloud", cloudUUID: uuid) }
        func add(_ id: String, at device: Int) throws {
            let bucket = SimulatedEntity(kind: .buckets, id: id, title: id, updatedAt: SimulatedEntity.created)
            try zone.devices[device].app.run("INSERT \(SimulatedEntity.insert(.buckets))", bucket.values, clock: zone.clock(device))
        }
        func sync(_ device: Int) async throws {
            _ = try await zone.engine(device) { try DirectoryCloud(path: "/cloud", expecting: uuid, calls: zone.disk, nonces: .seeded(9)) }.sync()
        }
        try add("first", at: 0)
        for device in 0..<2 { try await sync(device) }
        zone.disk.copy("/cloud", to: "/olderCopy")
        try add("second", at: 0)
        for device in [0, 1, 0] { try await sync(device) }
        zone.disk.link("/cloud", to: "/real")

        var call = 0, refusals = 0
        while true {
            // Something to publish and something to import.
            try add("mine\(call)", at: device)
            try add("other\(call)", at: 1 - device)
            try await sync(1 - device)
            let strange = zone.disk.files(in: "/\(other.rawValue)"), rows = try zone.devices[device].rows(), version = try zone.devices[device].applied()
            let real = zone.disk.files(in: "/real")
            zone.disk.swap("/cloud", for: "/\(other.rawValue)", atCall: call)
            var failure: SyncError?
            do { try await sync(device) } catch let error as SyncError { failure = error }
            let wasSwapped = zone.disk.hasFailed
            zone.disk.set(nil)
            zone.disk.link("/real", to: "/cloud")
            // Commits alone count: an asset that no commit names is an orphan, which a prune removes.
            let touched = Set(zone.disk.files(in: "/\(other.rawValue)").filter { strange[$0.key] != $0.value }.keys).filter {
                other == .anotherCloud || $0.contains("/commits/")
            }
            #expect(touched.isEmpty, "call \(call): \(touched.sorted())")
            if let failure {
                #expect([.refused, .dataRefused].contains(failure.code), "call \(call): \(failure)")
                refusals += 1
                let hasImported = try zone.devices[device].applied() > version
                if !hasImported { #expect(try zone.devices[device].rows() == rows, "call \(call)") }
                // What the real cloud had before is there, byte for byte, but for old reports.
                let now = zone.disk.files(in: "/real"), lost = real.filter { !$0.key.contains("/devices/") && now[$0.key] != $0.value }.keys.sorted()
                #expect(lost.isEmpty, "call \(call)")
            }
            try await sync(device)
            #expect(try zone.devices[device].database.read { try $0.settings.read().device } == ["one", "two"][device], "call \(call)")
            guard wasSwapped else { break }
            // Every call where time does not matter; else a few.
            call += Sample.isWhole ? 1 : 29
        }
        #expect(refusals > 2, "\(refusals) of \(call) calls")
        try await sync(1 - device)
        #expect(try zone.devices[0].rows() == zone.devices[1].rows())
        for device in 0..<2 { #expect(try await zone.engine(device).inspector().verify(all: device == 0, local: true).problems == []) }
    }
}
