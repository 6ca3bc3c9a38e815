import Foundation
import LocalStore
import LocalTables
import SnapshotModel
import StrictText
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// More different instants than an asset can hold: edits get the instant of the latest one, and nothing is blocked.
@Suite struct ManyInstantsTests {
    private static let table = "CREATE TABLE things(id INTEGER PRIMARY KEY, note TEXT)"

    private func scene() async throws -> (scene: SyncScene, engine: (String) throws -> SyncEngine) {
        let schema = try DatasetSchema(
            name: "things", table: "things", keys: ["id"], timestamp: nil,
            columns: [DatasetColumn("id", .integer), DatasetColumn("note", .text, isOptional: true)])
        let scene = try await SyncScene(Self.table, datasets: [schema])
        scene.clock.move(bySeconds: 3600)
        var rule = AssetRule()
        rule.singleInstants = 0
        rule.tailBytes = 600
        let cloud = scene.cloud, chosen = rule
        let engine = { (name: String) in
            try SyncEngine(database: scene.scratch.path(name), options: EngineOptions(now: scene.clock.now, assetRule: chosen) { _ in cloud })
        }
        try scene.writer.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO things SELECT i, 'first' FROM n")
        // An hour before the edits, whose clocks are up to some seconds before now.
        try scene.writer.run("UPDATE snapsync_log SET clock = clock - 3600000 WHERE key IS NOT NULL")
        _ = try await engine("writer.db").export()
        _ = try await engine("reader.db").importNewest()
        return (scene, engine)
    }

    /// Statements whose changes all have different clocks.
    private func edit(_ scene: SyncScene, _ statements: String) throws {
        try scene.writer.run("BEGIN; \(statements); UPDATE snapsync_log SET clock = clock - seq * 10 WHERE key IS NOT NULL; COMMIT;")
    }

    private let instants = "SELECT count(*), count(DISTINCT at), min(key), max(key) FROM snapsync_instants"

    @Test func editsGetTheInstantOfTheLatest() async throws {
        let (scene, engine) = try await scene()
        try edit(scene, "UPDATE things SET note = 'second'")
        let latest = try scene.writer.run("SELECT max(clock) * 1000 FROM snapsync_log")
        let report = try await engine("writer.db").export()
        #expect(report.published && report.warnings.contains { $0.contains("things: ") && $0.contains("more different instants") }, "\(report.warnings)")
        #expect(try scene.writer.run(instants) == "60|1|1|60\n")
        #expect(try scene.writer.run("SELECT max(at) FROM snapsync_instants") == latest)
        _ = try await engine("reader.db").importNewest()
        #expect(try scene.reader.run("SELECT key, at FROM snapsync_instants") == scene.writer.run("SELECT key, at FROM snapsync_instants"))
        #expect(try scene.reader.run("SELECT DISTINCT note FROM things") == "second\n")
        // Nothing is left to publish.
        #expect(try await engine("writer.db").export().published == false)
    }

    /// Every second row was written, so no two neighbours have one instant: the rows in between get it, too.
    @Test func soDoTheRowsBetweenThem() async throws {
        let (scene, engine) = try await scene()
        try edit(scene, "UPDATE things SET note = 'second' WHERE id % 2 = 0")
        let report = try await engine("writer.db").export()
        for (text, count) in [("more different instants", 2), ("more instants of single columns", 1)] {
            #expect(report.published && report.warnings.filter { $0.contains(text) }.count == count, "\(report.warnings)")
        }
        #expect(try scene.writer.run(instants) == "60|1|1|60\n")
        _ = try await engine("reader.db").importNewest()
        #expect(try scene.reader.run("SELECT key, at FROM snapsync_instants") == scene.writer.run("SELECT key, at FROM snapsync_instants"))
        #expect(try scene.reader.run("SELECT note, count(*) FROM things GROUP BY note") == "first|30\nsecond|30\n")
        // The next edit is later than that.
        try scene.writer.run("UPDATE things SET note = 'third' WHERE id = 1")
        _ = try await engine("writer.db").export()
        _ = try await engine("reader.db").importNewest()
        #expect(try scene.reader.run("SELECT note FROM things WHERE id = 1") == "third\n")
    }

    /// Deletions cannot be joined: the error says so, and what was deleted stays tracked.
    @Test func tooManyDeletionsAreRefused() async throws {
        let (scene, engine) = try await scene()
        try edit(scene, "DELETE FROM things WHERE id <= 25; UPDATE things SET note = 'second' WHERE id % 2 = 0")
        await #expect(throws: SyncError.self) { _ = try await engine("writer.db").export() }
        #expect(try scene.writer.run("SELECT count(*) FROM snapsync_changes WHERE state = 2") == "25\n")
    }
}
