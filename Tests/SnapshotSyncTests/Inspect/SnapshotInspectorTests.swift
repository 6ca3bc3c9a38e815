import CloudStore
import DirectoryCloud
import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotTools
@testable import SnapshotVersions

@Suite struct SnapshotInspectorTests {
    private func scene(_ rows: Int, cloud: CloudDatabase? = nil) async throws -> SyncScene {
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: cloud).filled(DatasetSchema.manyRows(rows))
        try await scene.export()
        return scene
    }

    @Test(arguments: [0, 1, 6000]) func aContainerIsWrittenAsZcatWouldWriteIt(rows: Int) async throws {
        let scratch = try ScratchDirectory()
        let scene = try await SyncScene(
            DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example")
        ).filled(rows == 0 ? "" : DatasetSchema.manyRows(rows))
        try await scene.export()
        let file = try await scene.asset().fields.dataFile.path
        let expected = try Gzip.decompress(scratch.path("cloud/private/ZentikSyncZone/\(file)"))
        for _ in 0..<20 {
            let written = Pieces()
            try await scene.engine("reader.db").inspector().writeContainer(of: "things") { written.append($0) }
            #expect(written.bytes == expected)
        }
    }

    @Test func everyKeptVersionCanBeShown() async throws {
        let scene = try await scene(10)
        try scene.writer.run("DELETE FROM things WHERE count > 4")
        try await scene.export()
        for (version, count) in [(1, 10), (2, 5)] as [(Int?, Int)] + [(nil, 5)] {
            let written = Pieces()
            try await scene.engine("reader.db").inspector().writeContainer(of: "things", version: version) { written.append($0) }
            let document = try #require(try JSONSerialization.jsonObject(with: written.bytes) as? [String: Any])
            #expect((document["things"] as? [Any])?.count == count)
        }
        for (dataset, version) in [("things", 3), ("other", 1)] {
            let error = try await #require(throws: SyncError.self) {
                try await scene.engine("reader.db").inspector().writeContainer(of: dataset, version: version) { _ in }
            }
            #expect(error.code == .nothingThere)
        }
    }

    @Test func anErrorOfTheOutputEndsTheWriting() async throws {
        struct Closed: Error {}
        let scene = try await scene(6000)
        let written = Pieces()
        await #expect(throws: (any Error).self) {
            try await scene.engine("reader.db").inspector().writeContainer(of: "things") { piece in
                written.append(piece)
                if written.count == 3 { throw Closed() }
            }
        }
        #expect(written.count == 3)
    }

    @Test func verifyNamesEveryProblemAndWhatIsSound() async throws {
        let memory = MemoryCloudDatabase(now: TestClock().now)
        let scene = try await scene(6000, cloud: memory)
        let first = try await scene.asset()
        for count in 1...2 {
            try scene.writer.run("DELETE FROM things WHERE count = \(count)")
            try await scene.export()
        }
        memory.damage(first.fields.dataFile.path, in: scene.zone) { $0?[first.index.blocks[0].member.offset + 30] ^= 4 }
        let second = try await scene.asset(version: 2)
        memory.damage(second.fields.dataFile.path, in: scene.zone) { $0 = nil }
        let inspector = try await scene.engine("writer.db").inspector()
        let all = try await inspector.verify(all: true)
        #expect(all.versions == 3)
        #expect(all.problems.count == 2)
        #expect(all.problems[0].hasPrefix("version 1, things_data"))
        #expect(all.problems[1].hasPrefix("version 2, things_data"))
        #expect(all.sound.map(\.name) == ["things_data@3"])
        #expect(try await inspector.verify().problems == [])
    }

    @Test(arguments: [
        "UPDATE things SET size = -1 WHERE count = 3000", "DELETE FROM things WHERE count = 3000", "INSERT INTO things(id) VALUES('!')",
        "INSERT INTO things(id) VALUES('~')",
        "INSERT INTO things(id) VALUES(NULL)", "INSERT INTO things(id) VALUES(x'ff')", "DELETE FROM things",
        "UPDATE things SET tags = 'no JSON' WHERE count = 9",
        "UPDATE things SET tags = ' ' || tags WHERE count = 9",
    ])
    func aRowThatIsNotTheVersionsIsFound(sql: String) async throws {
        let scene = try await scene(6000)
        try await scene.importNewest()
        let inspector = try await scene.engine("reader.db").inspector()
        #expect(try await inspector.verify(local: true).localMatches == true)
        // Behind the tracking's back, for what is tracked is no damage.
        try scene.reader.run(SQLiteShell.untracked(sql))
        let report = try await inspector.verify(local: true)
        #expect(report.localMatches == false)
        #expect(report.problems.count == 1)
    }
}

/// Collects what is written, piece by piece, on another thread.
private final class Pieces: @unchecked Sendable {
    // SAFETY: the writer is one thread at a time, and the test looks when it is done.
    private(set) var bytes = Data()
    private(set) var count = 0

    func append(_ piece: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: piece)
        count += 1
    }
}
