import CloudStore
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

@Suite struct ExportRunTests {
    private func scene(_ rows: Int = 50, cloud: CloudDatabase? = nil) async throws -> SyncScene {
        try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: cloud).filled(DatasetSchema.manyRows(rows))
    }

    private func versions(_ scene: SyncScene) async throws -> Int { try await scene.cloud.history(in: scene.zone).count }

    private func applied(_ scene: SyncScene) throws -> AppliedVersion? {
        try LocalDatabase(path: scene.scratch.path("writer.db")).read { try $0.state.applied() }
    }

    @Test func anExportWithNothingNewMakesNoVersionAndNoAsset() async throws {
        let scene = try await scene()
        let first = try await scene.export()
        #expect(first.published)
        #expect(first.version == 1)
        #expect(first.written.map(\.recordCount) == [50])
        let second = try await scene.export(to: FaultyCloudDatabase(wrapping: scene.cloud, .atWrite(FaultyCloudDatabase.Crash())))
        #expect(!second.published)
        #expect(second.version == 1)
        #expect(second.unchanged == ["things"])
        #expect(try await versions(scene) == 1)
    }

    @Test func anExportWithoutTrackingComparesRowsAndFindsNothingNew() async throws {
        let scene = try await scene()
        try await scene.export()
        try scene.writer.run("DROP TRIGGER snapsync_things_update0; UPDATE snapsync_tracking SET isComplete = 1")
        #expect(!(try await scene.export()).published)
        try scene.writer.run("DROP TRIGGER snapsync_things_update0; UPDATE things SET size = 77 WHERE count = 3")
        #expect(try await scene.export().version == 2)
    }

    @Test func bothDatasetsOfAnExportAreOneCommitAndAnUnchangedOneKeepsItsAsset() async throws {
        let scene = try await SyncScene(
            "CREATE TABLE buckets(id TEXT PRIMARY KEY, name TEXT, description TEXT, color TEXT, iconUrl TEXT, createdAt TEXT, updatedAt TEXT, isOrphan INTEGER); "
                + DatasetSchema.everyKindTable(), datasets: [.buckets, .everyKind()])
        try scene.writer.run(
            "INSERT INTO buckets VALUES('b', 'Bucket', NULL, NULL, NULL, '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 0); \(DatasetSchema.manyRows(3))")
        #expect(try await scene.export().written.map(\.name) == ["buckets", "things"])
        #expect(try await versions(scene) == 1)
        let before = try await scene.asset(0).fields.dataFile
        try scene.writer.run("DELETE FROM things")
        let report = try await scene.export()
        #expect(report.written.map(\.name) == ["things"])
        #expect(report.unchanged == ["buckets"])
        #expect(try await scene.asset(0).fields.dataFile == before)
        #expect(
            try await scene.cloud.history(in: scene.zone).map { $0.saved.map(\.name) } == [
                ["buckets_data", "schema.sql", "table.things", "things_data"], ["things_data"],
            ])
        #expect(try await scene.importNewest().datasets.count == 2)
        #expect(try scene.differences(0) + scene.differences(1) == "")
    }

    @Test func aRunThatEndedBeforeItsCommitIsMadeAnew() async throws {
        let scene = try await scene()
        let error = try await #require(throws: SyncError.self) {
            try await scene.export(to: FaultyCloudDatabase(wrapping: scene.cloud, .beforePublish(FaultyCloudDatabase.Crash())))
        }
        #expect(error.step == .announce)
        #expect(try applied(scene) == nil)
        #expect(try await versions(scene) == 0)
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 1")
        #expect(try await scene.export().version == 1)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test(arguments: [false, true]) func aRunThatEndedBetweenItsCommitAndItsNoteIsAdopted(hasChanged: Bool) async throws {
        let scene = try await scene()
        try await scene.export()
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 1")
        await #expect(throws: SyncError.self) {
            try await scene.export(to: FaultyCloudDatabase(wrapping: scene.cloud, .afterPublish(FaultyCloudDatabase.Crash())))
        }
        #expect(try applied(scene)?.number == 1)
        #expect(try await versions(scene) == 2)
        // The asset that the commit names is there, though the run had failed.
        #expect(try await scene.engine("reader.db").inspector().verify(all: true).problems == [])
        if hasChanged { try scene.writer.run("UPDATE things SET size = 6 WHERE count = 2") }
        let report = try await scene.export()
        #expect(report.version == (hasChanged ? 3 : 2))
        #expect(report.published == hasChanged)
        #expect(try applied(scene)?.number == report.version)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test func aCommitThatCannotBeNotedIsAdoptedByTheNextRun() async throws {
        let scene = try await scene()
        try scene.writer.run("CREATE TRIGGER full BEFORE INSERT ON snapsync_state WHEN NEW.key = 'applied' BEGIN SELECT raise(ABORT, 'disk full, say'); END")
        await #expect(throws: SyncError.self) { try await scene.export() }
        #expect(try await versions(scene) == 1)
        try scene.writer.run("DROP TRIGGER full")
        let report = try await scene.export()
        #expect(report.version == 1)
        #expect(!report.published)
        #expect(try applied(scene)?.number == 1)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test func aCommitOfAnotherDeviceIsRefusedUntilItIsImported() async throws {
        let scene = try await scene()
        try await scene.export()
        let token = try await scene.cloud.changes(since: nil, in: scene.zone).token
        let record = CloudRecord(type: "Other", name: "other", fields: ["x": .integer(1)])
        let foreign = try await scene.cloud.prepare(CommitDraft(device: "desk", saving: [record], clock: scene.clock.now()), after: token, in: scene.zone)
        _ = try await scene.cloud.publish(foreign)
        // This database is the desk, whoever published in its name before.
        _ = try await scene.engine("writer.db").devices.takeOver()
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 1")
        let before = try scene.writer.dump()
        let error = try await #require(throws: SyncError.self) { try await scene.export() }
        #expect(error.code == .refused)
        #expect(error.hint == "run snapsync import first")
        #expect(try scene.writer.dump() == before)
        #expect(try await versions(scene) == 2)
    }

    @Test func aZoneWithDataIsNotOverwrittenByADatabaseThatNeverImported() async throws {
        let scene = try await scene()
        try await scene.export()
        try scene.writer.run("DELETE FROM snapsync_state; DELETE FROM snapsync_datasets; UPDATE snapsync_tracking SET isComplete = 0; DELETE FROM things")
        let error = try await #require(throws: SyncError.self) { try await scene.export() }
        #expect(error.code == .refused)
        #expect(try await versions(scene) == 1)
    }

    @Test func aReaderAndAnotherDeviceMayNotPublish() async throws {
        let scene = try await scene()
        var error = try await #require(throws: SyncError.self) { try await scene.engine("reader.db").export() }
        #expect(error.code == .refused)
        try scene.writer.run("UPDATE snapsync_settings SET value = 'other' WHERE key = 'device'")
        error = try await #require(throws: SyncError.self) { try await scene.export() }
        #expect(error.code == .refused)
        #expect(error.reason.contains("desk"))
        #expect(try await versions(scene) == 0)
    }

    @Test(arguments: ["block", "cut", "gone", "index gone", "index"]) func aDamagedLastAssetCostsTimeAndNotData(damage: String) async throws {
        let memory = MemoryCloudDatabase(now: TestClock().now)
        let scene = try await scene(8000, cloud: memory)
        try await scene.export()
        let asset = try await scene.asset()
        let path = asset.fields.dataFile.path
        let place = asset.index.blocks[1].member.offset + 40
        memory.damage(damage.hasPrefix("index") ? path.replacing(".json.gz", with: ".index.json") : path, in: scene.zone) { bytes in
            #expect(bytes != nil)
            switch damage {
            case "block": bytes?[place] ^= 1
            case "index": bytes?[60] ^= 1
            case "cut": bytes?.removeLast(3)
            default: bytes = nil
            }
        }
        try scene.writer.run("UPDATE things SET size = 5 WHERE count = 1")
        let report = try await scene.export()
        #expect(report.version == 2)
        #expect(report.written.map(\.blocksReused) == [0])
        #expect(try await scene.engine("reader.db").inspector().verify().problems == [])
        try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test func aWriteThatFailsLeavesNoCommitAndTheNextRunSucceeds() async throws {
        let scene = try await scene(8000)
        let full = CloudError(.quotaExceeded, at: "assets", "no space")
        let error = try await #require(throws: SyncError.self) { try await scene.export(to: FaultyCloudDatabase(wrapping: scene.cloud, .atWrite(full))) }
        #expect(error.code == .inputOutput)
        #expect(error.step == .store)
        #expect(try await versions(scene) == 0)
        #expect(try await scene.export().version == 1)
    }

    @Test(arguments: [(50, 1), (8000, 20)]) func aBadRowIsNeverPublished(rows: Int, times: Int) async throws {
        let scene = try await scene(rows)
        try scene.writer.run("INSERT INTO things(id) VALUES(NULL)")
        for _ in 0..<times {
            let error = try await #require(throws: SyncError.self) { try await scene.export() }
            #expect(error.code == .dataRefused, "\(error)")
        }
        #expect(try await versions(scene) == 0)
        try scene.writer.run("DELETE FROM things WHERE id IS NULL; UPDATE things SET tags = '[' WHERE count = \(rows - 1)")
        for _ in 0..<times { await #expect(throws: SyncError.self) { try await scene.export() } }
        #expect(try await versions(scene) == 0)
    }

    @Test func timesNeverGoBackWhateverTheClockDoes() async throws {
        let scene = try await scene()
        try await scene.export()
        let first = try await scene.asset().fields.syncTimestamp
        scene.clock.move(bySeconds: -3600)
        try scene.writer.run("DELETE FROM things WHERE count = 1")
        try await scene.export()
        #expect(try await scene.asset().fields.syncTimestamp == first.advanced(byMicroseconds: 1000))
        try await scene.importNewest()
        #expect(try scene.differences() == "")
    }

    @Test func twoRunsOnOneDatabaseAreKeptApart() async throws {
        let scene = try await scene()
        let lock = try RunLock(database: scene.scratch.path("writer.db"))
        let error = try await #require(throws: SyncError.self) { try await scene.export() }
        #expect(error.code == .tryAgainLater)
        withExtendedLifetime(lock) {}
    }
}
