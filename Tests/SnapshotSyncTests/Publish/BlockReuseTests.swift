import CloudStore
import SnapshotFormat
import SnapshotModel
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// A version is whole, and costs what changed.
@Suite struct BlockReuseTests {
    private func scene(_ rows: Int = 20_000) async throws -> SyncScene {
        try await SyncScene("\(DatasetSchema.everyKindTable()); ", datasets: [.everyKind()]).filled(DatasetSchema.manyRows(rows))
    }

    /// The bytes of each block's member as they lie in the asset, by the block's first key.
    private func members(_ asset: SnapshotAsset) throws -> [EntityKey: [UInt8]] {
        try Dictionary(
            uniqueKeysWithValues: asset.index.blocks.map { entry in
                var bytes = [UInt8](repeating: 0, count: entry.member.length)
                try bytes.withUnsafeMutableBytes { try asset.reader.read(into: $0, at: entry.member.offset) }
                return (entry.firstKey, bytes)
            })
    }

    /// Changes the writer's rows, exports, and says how many blocks are others; the rest must be the same bytes, and the reader must get it all.
    private func differing(_ scene: SyncScene, _ sql: String) async throws -> (old: SnapshotAsset, new: SnapshotAsset, differing: [EntityKey]) {
        let old = try await scene.asset()
        try scene.writer.run(sql)
        let written = try #require(try await scene.export().written.first)
        let new = try await scene.asset()
        let before = try members(old), after = try members(new)
        let differing = after.filter { before[$0.key] != $0.value }.keys.sorted()
        #expect(written.blocks == new.index.blocks.count)
        #expect(written.blocksReused == new.index.blocks.count - differing.count)
        #expect(try await scene.engine("writer.db").inspector().verify(local: true).problems == [])
        try await scene.importNewest()
        #expect(try scene.differences() == "")
        return (old, new, differing)
    }

    @Test func oneChangedRowOfTwentyThousandIsOneOtherBlock() async throws {
        let scene = try await scene()
        try await scene.export()
        let (old, new, differing) = try await differing(scene, "UPDATE things SET size = -1 WHERE count = 12345")
        #expect(old.index.blocks.count > 5)
        #expect(differing.count == 1)
        #expect(new.index.blocks.map(\.firstKey) == old.index.blocks.map(\.firstKey))
    }

    @Test func rowsTouchedWithoutAChangeArePublishedOnce() async throws {
        let scene = try await scene()
        try await scene.export()
        // Each is an edit with an instant of its own: it wins over what another device did before it.
        try scene.writer.run(
            "UPDATE things SET size = size; DELETE FROM things WHERE count = 7; \(DatasetSchema.manyRows(8).replacing("INSERT", with: "INSERT OR IGNORE"))")
        #expect(try await scene.export().published)
        let report = try await scene.export()
        #expect(!report.published)
        #expect(report.unchanged == ["things"])
        #expect(try await scene.cloud.history(in: scene.zone).count == 2)
    }

    @Test func aDeletionTouchesItsOwnBlockOrTheOneBefore() async throws {
        let scene = try await scene()
        try await scene.export()
        let (old, new, differing) = try await differing(scene, "DELETE FROM things WHERE count = 12345")
        #expect(differing.count <= 1)
        #expect(new.index.recordCount == old.index.recordCount - 1)
    }

    @Test func aNewFirstKeyTouchesTheFirstBlockAlone() async throws {
        let scene = try await scene()
        try await scene.export()
        // The first block begins the file, so it is another block even if only a block before it is new.
        let (_, new, differing) = try await differing(scene, "INSERT INTO things(id) VALUES('!first')")
        #expect(differing.count <= 2)
        #expect(new.index.blocks.first?.firstKey == EntityKey("!first"))
    }

    @Test func aNewLastKeyTouchesTheLastBlockAlone() async throws {
        let scene = try await scene()
        try await scene.export()
        #expect(try await differing(scene, "INSERT INTO things(id) VALUES('~last')").differing.count == 1)
    }

    @Test func withoutItsFirstBlockTheFileBeginsWithTheSecond() async throws {
        let scene = try await scene()
        try await scene.export()
        let second = try await scene.asset().index.blocks[1]
        guard case .text(let bytes) = second.firstKey else { throw ToolFailure("no text key") }
        let (old, new, differing) = try await differing(scene, "DELETE FROM things WHERE id < '\(String(decoding: bytes, as: UTF8.self))'")
        #expect(new.index.blocks.count == old.index.blocks.count - 1)
        // Its separator is another one now, its entities are the same.
        #expect(differing == [second.firstKey])
        #expect(new.index.blocks[0].member.rawSHA256 == second.member.rawSHA256)
    }

    @Test func everythingRemovedIsAnEmptyVersionAndEverythingBackIsTheSameBlocks() async throws {
        let scene = try await scene(6000)
        try await scene.export()
        let (old, empty, _) = try await differing(scene, "CREATE TABLE kept AS SELECT * FROM things; DELETE FROM things")
        #expect(empty.index.blocks.isEmpty)
        #expect(empty.index.recordCount == 0)
        let (_, back, _) = try await differing(scene, "INSERT INTO things SELECT * FROM kept ORDER BY random(); DROP TABLE kept")
        #expect(back.index.blocks.map(\.member.rawSHA256) == old.index.blocks.map(\.member.rawSHA256))
        #expect(!(try await scene.export()).published)
    }

    @Test(arguments: Sample.of(UInt64(1)...6, oneIn: 3)) func randomChangesReuseWhatTheyDoNotTouch(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let scene = try await scene(6000)
        try await scene.export()
        for _ in 0..<3 {
            let n = random.below(6000), m = random.below(30)
            let sql = [
                "DELETE FROM things WHERE count BETWEEN \(n) AND \(n + m)", "UPDATE things SET changed = 'seed \(seed)' WHERE count BETWEEN \(n) AND \(n + m)",
                "UPDATE things SET id = 'moved ' || id WHERE count = \(n)", "INSERT OR REPLACE INTO things(id, tags) VALUES('new \(n)', '[\(m)]')",
            ][random.below(4)]
            let old = try await scene.asset()
            try scene.writer.run(sql)
            let report = try await scene.export()
            let new = try await scene.asset()
            let before = try members(old), after = try members(new)
            if report.published {
                #expect(try #require(report.written.first).blocksReused == after.count { before[$0.key] == $0.value })
            }
            // The same as if nothing could have been reused.
            let fresh = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], clock: scene.clock)
            try fresh.writer.run("ATTACH '\(scene.scratch.path("writer.db"))' AS w; INSERT INTO things SELECT * FROM w.things;")
            try await fresh.export()
            if let blockEntities = try? await fresh.asset().index.blockEntities, blockEntities == new.index.blockEntities {
                #expect(try await members(fresh.asset()) == after)
            }
        }
    }
}

extension SyncScene {
    /// Runs SQL at the writer.
    func filled(_ sql: String) throws -> SyncScene {
        try writer.run("BEGIN; \(sql); COMMIT;")
        return self
    }
}
