import CloudStore
import SnapshotFormat
import SnapshotModel
@testable import SyncRuns
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// A new snapshot asset reads what was touched since the last one and copies the rest unread.
@Suite struct ChangedBlocksTests {
    /// A rule by which each commit writes a snapshot asset, and its changes beside it; or, at first, changes alone.
    private func rule(changeFiles: Int = 0) -> AssetRule {
        var rule = AssetRule()
        (rule.smallByteCount, rule.changeFileCount, rule.changeShare) = (0, changeFiles, 1000)
        return rule
    }

    private func scene(_ rows: Int, wal: Bool = true) async throws -> SyncScene {
        try await SyncScene("\(DatasetSchema.everyKindTable()); ", datasets: [.everyKind()], writerWAL: wal).filled(DatasetSchema.manyRows(rows))
    }

    private func engine(_ scene: SyncScene, changeFiles: Int = 0) throws -> SyncEngine {
        let cloud = scene.cloud
        return try SyncEngine(
            database: scene.scratch.path("writer.db"), options: EngineOptions(now: scene.clock.now, assetRule: rule(changeFiles: changeFiles)) { _ in cloud })
    }

    /// The JSON of the newest snapshot asset's blocks, by their hashes.
    private func blocks(_ scene: SyncScene) async throws -> [String] {
        try await scene.asset().index.blocks.map { "\($0.firstKey) \($0.count) \($0.member.rawSHA256)" }
    }

    /// The blocks of the newest asset once all rows were read, for the tracking was in doubt and a row was touched.
    private func blocksOfAllRows(_ scene: SyncScene) async throws -> [String] {
        try scene.writer.run("UPDATE snapsync_tracking SET isComplete = 0; UPDATE things SET size = size WHERE id = (SELECT min(id) FROM things)")
        _ = try await engine(scene).export(allowing: .all)
        return try await blocks(scene)
    }

    private func text(_ key: EntityKey) -> String {
        guard case .text(let bytes) = key else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Changes a row so that nobody notes it.
    private func changeUnnoticed(_ scene: SyncScene, count: Int) throws {
        try scene.writer.run(SQLiteShell.untracked("UPDATE things SET size = -77 WHERE count = \(count)"))
    }

    @Test(arguments: [true, false]) func onlyTouchedBlocksAreRead(wal: Bool) async throws {
        let scene = try await scene(20_000, wal: wal)
        _ = try await engine(scene).export()
        let before = try await blocks(scene)
        // What no note tells of shows what was read.
        try changeUnnoticed(scene, count: 5)
        let key = try scene.writer.run("SELECT id FROM things WHERE count = 5").dropLast()
        let last = try await scene.asset().index.blocks
        let unread = try #require(last.lastIndex { $0.firstKey <= EntityKey(String(key)) })
        let far = try scene.writer.run("SELECT count FROM things ORDER BY id LIMIT 1 OFFSET \(unread > last.count / 2 ? 3 : 19_990)").dropLast()
        try scene.writer.run("UPDATE things SET size = -1 WHERE count = \(far)")
        let written = try #require(try await engine(scene).export().written.first)
        #expect(written.kind == .snapshot && written.changes?.changed == 1)
        let after = try await blocks(scene)
        #expect(after[unread] == before[unread])
        #expect(zip(after, before).count { $0 != $1 } == 1)
        #expect(written.blocksReused == after.count - 1)

        // Once the difference is found, all rows are read.
        let found = try await engine(scene).inspector().verify(local: true)
        #expect(found.localMatches == false)
        try scene.writer.run("UPDATE things SET size = -2 WHERE count = \(far)")
        _ = try await engine(scene).export(allowing: .all)
        let healed = try await blocks(scene)
        #expect(healed[unread] != before[unread])
        #expect(try await blocksOfAllRows(scene) == healed)
    }

    @Test func fullExportReadsAllRows() async throws {
        let scene = try await scene(20_000)
        _ = try await engine(scene).export()
        let before = try await blocks(scene)
        try changeUnnoticed(scene, count: 5)
        let written = try #require(try await engine(scene).export(isFull: true).written.first)
        #expect(written.blocksReused == 0)
        #expect(try await zip(blocks(scene), before).count { $0 != $1 } == 1)
    }

    @Test func trackedChangesThatDoNotAddUpHaveAllRowsRead() async throws {
        let scene = try await scene(20_000)
        _ = try await engine(scene).export()
        // A row that nobody noted goes in the range of a block that is read: the count is not what the changes say.
        try scene.writer.run(
            """
            BEGIN; \(SQLiteShell.untracked("UPDATE things SET size = -77 WHERE count = 5; INSERT INTO things(id) VALUES('00000001-unnoticed')"))
            UPDATE things SET size = 1 WHERE id = (SELECT min(id) FROM things WHERE id > '00000001-unnoticed'); COMMIT;
            """)
        _ = try await engine(scene).export()
        let after = try await blocks(scene)
        #expect(try await blocksOfAllRows(scene) == after)
    }

    @Test(arguments: Sample.of(UInt64(1)...10, oneIn: 3)) func randomChangesMakeTheAssetThatAllRowsMake(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scene = try await scene(6000, wal: seed.isMultiple(of: 2))
        // Some rows are so large that blocks are full before a key cuts them.
        try scene.writer.run("UPDATE things SET tags = json_array(hex(zeroblob(3000))) WHERE count % 3 = 0")
        _ = try await engine(scene).export()
        let files = random.below(4)
        for _ in 0..<8 {
            let n = random.below(6000), m = random.below(12)
            let cut = try await scene.asset().index.blocks.randomElement(using: &random).map { text($0.firstKey) } ?? ""
            let sql = [
                "DELETE FROM things WHERE count BETWEEN \(n) AND \(n + m)", "UPDATE things SET changed = 'seed \(seed)' WHERE count BETWEEN \(n) AND \(n + m)",
                "UPDATE things SET id = 'moved ' || id WHERE count = \(n)", "INSERT OR REPLACE INTO things(id, tags) VALUES('new \(n)', '[\(m)]')",
                "DELETE FROM things WHERE id = '\(cut)'", "UPDATE things SET size = \(n) WHERE id = '\(cut)'",
                "DELETE FROM things WHERE id <= '\(cut)' AND id IN (SELECT id FROM things ORDER BY id LIMIT 200)",
                "INSERT OR REPLACE INTO things(id, size) SELECT printf('%08x-new', (count * 2654435761 + \(n)) % 4294967296), \(m) FROM things WHERE count > \(n) LIMIT \(m)",
            ][random.below(8)]
            try scene.writer.run(sql)
            _ = try await engine(scene, changeFiles: files).export(allowing: .all)
        }
        try scene.writer.run("UPDATE things SET size = 1 WHERE id = (SELECT max(id) FROM things)")
        _ = try await engine(scene).export(allowing: .all)
        #expect(try await engine(scene).inspector().verify(local: true).problems == [], "seed \(seed)")
        let found = try await blocks(scene), count = try scene.writer.run("SELECT count(*) FROM things")
        #expect(try await "\(scene.asset().index.recordCount)\n" == count, "seed \(seed)")
        #expect(try await blocksOfAllRows(scene) == found, "seed \(seed)")
        try await scene.importNewest()
        #expect(try scene.differences() == "", "seed \(seed)")
    }
}
