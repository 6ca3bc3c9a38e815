import CloudStore
import Foundation
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// Clocks that are not set, and clocks that jump between runs.
@Suite struct JumpingClockTests {
    @Test(arguments: ["1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-02T00:00:00Z", "9999-01-01T00:00:00Z"])
    func aClockThatIsNotSetPublishesNothing(time: String) async throws {
        let scene = try await DeviceScene()
        try await scene.add("one", .writer, DeviceScene.filled(3))
        let now = try Instant(parsing: time), cloud = scene.cloud
        let error = try await #require(throws: SyncError.self) {
            try await SyncEngine(database: scene.scratch.path("one"), options: EngineOptions(now: { now }) { _ in cloud }).export()
        }
        #expect(error.code == .refused && error.place == "clock" && error.reason.contains("nothing was published"))
        #expect(try await scene.history().isEmpty)
        // Once it is set, everything goes.
        #expect(try await scene.export("one").version == 1)
    }

    @Test(arguments: [-90_000, 90_000]) func aClockADayOffTheDirectorysOwnPublishesNothing(seconds: Int64) async throws {
        let scratch = try ScratchDirectory()
        _ = try await SyncEngine.setUp(
            SetupRequest(database: scratch.path("one"), cloud: scratch.path("cloud"), role: .writer, device: "one", createsTables: true, enables: true))
        let now: @Sendable () -> Instant = { Instant.now.advanced(byMicroseconds: seconds * 1_000_000) }
        // Folders may have been made; no file may be left in them.
        func files() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: scratch.path("cloud")).filter { $0.contains(".json") }.sorted() }
        let before = try files()
        let error = try await #require(throws: SyncError.self) {
            try await SyncEngine(database: scratch.path("one"), options: EngineOptions(now: now)).export()
        }
        #expect(error.code == .refused && error.reason.contains("this device's clock says"))
        #expect(try files() == before)
        #expect(try await SyncEngine(database: scratch.path("one")).export().version == 1)
    }

    @Test(arguments: UInt64(1)...8) func clocksThatJumpAnHourBackOrAYearAheadLoseNothing(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scene = try await DeviceScene()
        try await scene.publish("one", .peer, DeviceScene.filled(6))
        try await scene.join("two", .peer)
        var last: [String: Instant] = [:], made = 0
        for step in 0..<10 {
            scene.clock.move(bySeconds: [-3600, 0, 365 * 86_400, -365 * 86_400, 60][random.below(5)])
            let name = random.happens(percent: 50) ? "one" : "two"
            try scene.run(
                name,
                "UPDATE notifications SET title = '\(name) \(step)', updatedAt = '\(scene.clock.now())' WHERE id = 'n\(random.below(6))';"
                    + DeviceScene.notification("\(name)\(step)", in: "b"))
            made += 1
            try await scene.importNewest(name)
            try await scene.export(name)
            let records = try await scene.cloud.records(in: scene.zone)
            for record in records.records {
                let at = try #require(DatasetRecord(record)).syncTimestamp
                if let before = last[record.name], before != at { #expect(at > before, "seed \(seed)") }
                last[record.name] = at
            }
        }
        for name in ["one", "two"] { try await scene.importNewest(name) }
        let all = "SELECT * FROM notifications ORDER BY id"
        #expect(try scene.run("one", all) == scene.run("two", all), "seed \(seed)")
        #expect(try scene.run("one", "SELECT count(*) FROM notifications") == "\(6 + made)\n", "seed \(seed)")
        #expect(try await scene.history().map(\.timestamp) == scene.history().map(\.timestamp).sorted())
        for name in ["one", "two"] { #expect(try await scene.verify(name).isEmpty, "seed \(seed)") }
    }
}
