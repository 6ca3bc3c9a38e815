import CloudStore
import DirectoryCloud
import SnapshotModel
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools

/// After every export and import the reader's table is the writer's, whatever happened to either.
@Suite struct RandomHistoryTests {
    @Test(arguments: Sample.of(UInt64(1)...200, oneIn: 11)) func theReadersTableIsTheWriters(seed: UInt64) async throws {
        try await run(seed: seed, isLarge: false, rounds: 3)
    }

    @Test(arguments: Sample.of(UInt64(1001)...1008, oneIn: 3)) func theReadersLargeTableIsTheWriters(seed: UInt64) async throws {
        try await run(seed: seed, isLarge: true, rounds: 3)
    }

    @Test(arguments: Sample.of(UInt64(2001)...2008, oneIn: 3)) func soItIsThroughADirectory(seed: UInt64) async throws {
        let scratch = try ScratchDirectory()
        try await run(seed: seed, isLarge: seed % 4 == 0, rounds: 3, cloud: DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example"))
    }

    @Test(arguments: Sample.of(UInt64(3001)...3008, oneIn: 3)) func soItIsWhereAssetsAreSealed(seed: UInt64) async throws {
        try await run(seed: seed, isLarge: seed % 2 == 0, rounds: 4, cloud: SealedTestCloud(wrapped: MemoryCloudDatabase(), epochs: UInt32(seed % 3 + 1)))
    }

    private func run(seed: UInt64, isLarge: Bool, rounds: Int, cloud: CloudDatabase? = nil) async throws {
        var history = RandomHistory(seed: seed, isLarge: isLarge)
        let scene = try await SyncScene(
            history.table, datasets: [history.schema], cloud: cloud, writerWAL: history.writerWAL, readerWAL: history.readerWAL)
        var versions = 0, hasImported = false
        for round in 1...rounds {
            let sql = history.statements()
            try scene.writer.run("BEGIN; \(sql); COMMIT;")
            let exported = try await scene.engine("writer.db").export(allowing: .all)
            versions += exported.published ? 1 : 0
            #expect(exported.version == versions, "seed \(seed), round \(round)")
            if sql.isEmpty { #expect(exported.published == (round == 1), "seed \(seed), round \(round): nothing was changed") }
            // A reader may miss versions, and its table may be changed behind the tracking's back.
            if history.random.happens(percent: 25), round < rounds { continue }
            if hasImported, history.random.happens(percent: 30) {
                let harm = history.statements()
                try scene.reader.run("BEGIN; \(SQLiteShell.untracked(harm)) COMMIT;")
                // Not being tracked, its changes are replaced by the next version that it imports.
                try scene.writer.run("UPDATE things SET changed = 'round \(round)' WHERE id = (SELECT min(id) FROM things)")
                versions += try await scene.engine("writer.db").export(allowing: .all).published ? 1 : 0
                guard try await scene.engine("reader.db").importNewest(allowing: .all).applied else { continue }
            } else {
                _ = try await scene.engine("reader.db").importNewest(allowing: .all)
            }
            hasImported = true
            let differences = try scene.differences()
            guard differences == "" else {
                Issue.record("seed \(seed), round \(round): \(differences.prefix(400))")
                return
            }
        }
        if hasImported { #expect(try await scene.engine("writer.db").inspector().verify(all: true, local: true).problems == [], "seed \(seed)") }
        #expect(try await scene.cloud.history(in: scene.zone).count == versions)
    }
}
