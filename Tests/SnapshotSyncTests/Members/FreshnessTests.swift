import CloudStore
import Foundation
import SnapshotModel
import StrictText
import Synchronization
import TestSupport
import Testing

/// Signed and sealed zones in memory, with clocks that a test sets: members, messages, and a version a day.
@Suite struct FreshnessTests {
    /// Keys of an application's own, in memory.
    private final class Keys: KeyStore {
        private let known = Mutex<[KeyOwner: DeviceKeys]>([:])
        func keys(of owner: KeyOwner) throws -> DeviceKeys? { known.withLock { $0[owner] } }
        func store(_ keys: DeviceKeys, of owner: KeyOwner) throws { known.withLock { $0[owner] = keys } }
        func place(of owner: KeyOwner) -> String { "memory" }
    }

    /// The present time, of every device and of the cloud.
    private final class Time: Sendable {
        private let instant = Mutex(Instant.now)
        var now: Instant { instant.withLock { $0 } }
        func pass(hours: Int) { instant.withLock { $0 = $0.advanced(byMicroseconds: Int64(hours) * 3_600_000_000) } }
    }

    /// A writer and a reader that share a zone in memory.
    private struct Application {
        let scratch: ScratchDirectory
        let time = Time()
        let keys = Keys()
        let cloud: MemoryCloudDatabase

        init() throws {
            scratch = try ScratchDirectory()
            cloud = MemoryCloudDatabase(now: { [time] in time.now })
        }

        func setUp(_ name: String, _ role: SyncRole, _ change: (inout SetupRequest) -> Void = { _ in }) async throws {
            var request = SetupRequest(
                database: scratch.path("\(name).db"), cloud: "memory", role: role, device: name, createsTables: true, enables: true)
            request.keyStore = keys
            change(&request)
            _ = try await SyncEngine.setUp(request, in: cloud)
        }

        func engine(_ name: String) throws -> SyncEngine {
            try SyncEngine(database: scratch.path("\(name).db"), cloud: cloud, options: EngineOptions(keys: keys, now: { [time] in time.now }))
        }

        func shell(_ name: String) -> SQLiteShell { SQLiteShell("\(name).db", in: scratch.path) }

        func insertBucket(_ id: String) throws {
            try shell("desk").run("INSERT INTO buckets(id, name, createdAt, updatedAt) VALUES('\(id)', 'Work', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')")
        }

        func approve(_ name: String) async throws {
            let request = try #require(try await engine("desk").members.list().requests.first { $0.device == name })
            _ = try await engine("desk").members.approve(name, as: nil, fingerprint: #require(KeyFingerprint(request.fingerprint)))
        }
    }

    @Test func membersShareASignedZoneInMemory() async throws {
        let application = try Application()
        try await application.setUp("desk", .writer) { $0.isSigned = true }
        try application.insertBucket("one")
        #expect(try await application.engine("desk").sync().exported?.version == 1)
        try await application.setUp("phone", .reader)
        _ = try await application.engine("phone").sync()
        try application.shell("phone").run("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z'")
        // Who is no member is not heard, and is when it was approved.
        _ = try await application.engine("phone").sync()
        _ = try await application.engine("desk").sync()
        #expect(try application.shell("desk").run("SELECT name FROM buckets") == "Work\n")
        try await application.approve("phone")
        _ = try await application.engine("desk").sync()
        #expect(try application.shell("desk").run("SELECT name FROM buckets") == "Home\n")
        #expect(try await application.engine("phone").status().signature?.members == 2)
        let stranger = try SyncEngine(database: application.scratch.path("desk.db"), cloud: application.cloud, options: EngineOptions(keys: Keys()))
        try application.insertBucket("two")
        await #expect { try await stranger.sync() } throws: { ($0 as? SyncError)?.code == .refused }
    }

    @Test func aZoneInMemoryIsSealedWithItsReader() async throws {
        let application = try Application()
        try await application.setUp("desk", .writer)
        try application.insertBucket("one")
        _ = try await application.engine("desk").sync()
        try await application.setUp("phone", .reader)
        _ = try await application.engine("phone").sync()
        try application.shell("phone").run("UPDATE buckets SET name = 'Home', updatedAt = '2026-01-02T00:00:00Z'")
        var request = TurnOverRequest(isSealed: true)
        request.removesEarlier = true
        let report = try await application.engine("desk").turnOver(request)
        #expect(report.zone == "ZentikSyncZone-sealed" && report.toApprove == ["phone"] && report.recoveryCode != nil && report.isEarlierRemoved)
        await #expect { try await application.engine("phone").sync() } throws: { ($0 as? SyncError)?.code == .tryAgainLater }
        try await application.approve("phone")
        _ = try await application.engine("phone").sync()
        _ = try await application.engine("desk").sync()
        #expect(try application.shell("desk").run("SELECT name FROM buckets") == "Home\n")
        #expect(try await application.engine("phone").status().earlierZones.map(\.zone) == ["ZentikSyncZone"])
    }

    @Test(arguments: [false, true]) func publishersMakeAVersionADayAndReadersMissIt(isSealed: Bool) async throws {
        let application = try Application()
        try await application.setUp("desk", .writer) {
            $0.isSigned = true
            $0.isSealed = isSealed
            $0.isFresh = true
        }
        try application.insertBucket("one")
        _ = try await application.engine("desk").sync()
        if isSealed {
            await #expect { try await application.setUp("phone", .reader) } throws: { ($0 as? SyncError)?.code == .tryAgainLater }
            try await application.approve("phone")
        }
        try await application.setUp("phone", .reader)
        let first = try #require(try await application.engine("phone").sync().imported)
        #expect(first.warnings == [])
        let version = try #require(first.version)
        // Nothing is due within a day, and one version after it, however often the writer syncs.
        application.time.pass(hours: 20)
        #expect(try await application.engine("desk").sync().exported?.published == false)
        application.time.pass(hours: 5)
        let kept = try #require(try await application.engine("desk").sync().exported)
        #expect(kept.published && kept.version == version + 1 && kept.written.isEmpty)
        #expect(try await application.engine("desk").sync().exported?.published == false)
        let followed = try #require(try await application.engine("phone").sync().imported)
        #expect(followed.version == version + 1 && followed.warnings == [])
        // A writer that changes rows keeps the promise with that.
        application.time.pass(hours: 20)
        try application.insertBucket("two")
        #expect(try await application.engine("desk").sync().exported?.version == version + 2)
        application.time.pass(hours: 10)
        #expect(try await application.engine("desk").sync().exported?.published == false)
        #expect(try await application.engine("phone").sync().imported?.warnings == [])
        // Nobody publishes, or somebody keeps it back: after three days the reader says so.
        application.time.pass(hours: 60)
        #expect(try await application.engine("phone").sync().imported?.warnings == [])
        application.time.pass(hours: 5)
        let late = try #require(try await application.engine("phone").sync().imported)
        #expect(late.warnings.count == 1 && late.warnings.first?.contains("new versions are kept back from this device") == true, "\(late.warnings)")
        #expect(try await application.engine("phone").status().freshness?.isLate == true)
        #expect(try await application.engine("phone").doctor().findings.contains { $0.id == "freshness" && $0.severity == .warning })
        #expect(try await application.engine("desk").sync().exported?.version == version + 3)
        #expect(try await application.engine("phone").sync().imported?.warnings == [])
        // Taken back, nothing is promised any more.
        _ = try await application.engine("desk").members.setFreshness(false)
        _ = try await application.engine("phone").sync()
        application.time.pass(hours: 240)
        #expect(try await application.engine("desk").sync().exported?.published == false)
        #expect(try await application.engine("phone").sync().imported?.warnings == [])
        #expect(try await application.engine("phone").status().freshness == nil)
    }

    @Test func aZoneThatIsNotSignedPromisesNothing() async throws {
        let application = try Application()
        try await application.setUp("desk", .writer)
        try application.insertBucket("one")
        _ = try await application.engine("desk").sync()
        await #expect { try await application.engine("desk").members.setFreshness(true) } throws: { ($0 as? SyncError)?.code == .refused }
    }
}
