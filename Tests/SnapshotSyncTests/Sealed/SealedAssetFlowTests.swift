import CloudStore
import DirectoryCloud
import Foundation
import SnapshotFormat
import SnapshotModel
import StrictText
import TestSupport
import Testing

@testable import SnapshotEngine
@testable import SnapshotTools
@testable import SnapshotVersions

/// Exports and imports whose assets are sealed.
@Suite struct SealedAssetFlowTests {
    private static let canary = "canary-in-a-row"

    private func files(_ scratch: ScratchDirectory) throws -> [(path: String, bytes: Data)] {
        let root = scratch.path("cloud")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root).filter { $0.contains("/assets/") && $0.hasSuffix(".json") || $0.hasSuffix(".gz") }
        return try paths.map { ($0, try Data(contentsOf: URL(fileURLWithPath: "\(root)/\($0)"))) }
    }

    @Test func rowsArriveAndNoFileShowsThem() async throws {
        let cloudScratch = try ScratchDirectory()
        let directory = try DirectoryCloud.create(at: cloudScratch.path("cloud"), container: "iCloud.org.example")
        var scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: SealedTestCloud(wrapped: directory))
        try scene.writer.run(DatasetSchema.manyRows(9000, text: Self.canary))
        scene.rule.smallByteCount = 1000
        let first = try await scene.export()
        #expect(first.published)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
        // A change asset, and then a snapshot asset that copies what did not change.
        try scene.writer.run("UPDATE things SET count = -1, tags = '[\"\(Self.canary)\"]' WHERE id IN (SELECT id FROM things LIMIT 3 OFFSET 500)")
        let second = try await scene.export()
        #expect(second.written.first?.kind == .changes)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
        try scene.writer.run("DELETE FROM things WHERE count % 1000 = 7; INSERT INTO things(id, tags) VALUES('new', '[\"\(Self.canary)\"]')")
        let third = try await scene.engine("writer.db").export(allowing: .all)
        #expect(third.written.first?.kind == .changes)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
        let fourth = try #require(try await scene.engine("writer.db").export(isFull: true).written.first)
        #expect(fourth.kind == .snapshot)
        try await scene.importNewest()
        #expect(try scene.differences() == "")
        #expect(try await scene.engine("writer.db").inspector().verify(all: true, local: true).problems == [])
        #expect(try await scene.engine("reader.db").inspector().verify(all: true, local: true).problems == [])

        let stored = try files(cloudScratch)
        #expect(stored.count >= 3)
        for (path, bytes) in stored {
            #expect(bytes.prefix(4) == Data([0, 0, 0, 1]), "\(path)")
            #expect(bytes.firstRange(of: Data([0x1F, 0x8B, 8, 0])) == nil, "\(path)")
            for text in [Self.canary, "syncTimestamp", "firstKey", "things"] { #expect(bytes.firstRange(of: Data(text.utf8)) == nil, "\(path): \(text)") }
        }
    }

    @Test func aDeviceWithoutTheNewEpochReadsNothingOfIt() async throws {
        let plain = MemoryCloudDatabase()
        let scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: SealedTestCloud(wrapped: plain))
        try scene.writer.run(DatasetSchema.manyRows(9000))
        try await scene.export()
        try await scene.importNewest()
        try scene.writer.run("UPDATE things SET count = -1 WHERE count < 3")
        // Most blocks stay boxes of the first epoch.
        let report = try #require(await scene.export(to: SealedTestCloud(wrapped: plain, epochs: 2)).written.first)
        #expect((report.blocksReused ?? 0) > 0)
        let before = try scene.reader.run("SELECT count(*), sum(count) FROM things")
        do {
            try await scene.importNewest(from: SealedTestCloud(wrapped: plain))
            Issue.record("it read an epoch whose key it does not have")
        } catch let error as SyncError {
            #expect(error.code == .refused)
            #expect(error.reason.contains("this device has no key of epoch 2"))
            #expect(error.hint?.contains("approve") == true)
        }
        #expect(try scene.reader.run("SELECT count(*), sum(count) FROM things") == before)
        try await scene.importNewest(from: SealedTestCloud(wrapped: plain, epochs: 2))
        #expect(try scene.differences() == "")
    }

    @Test func aProgramThatForgetsTheKeysStoresNothing() async throws {
        /// A layer that does not pass the keys on.
        struct Forgetful: CloudLayer {
            final class Writer: AssetWriter {
                let wrapped: any AssetWriter
                init(_ wrapped: any AssetWriter) { self.wrapped = wrapped }
                func write(_ bytes: UnsafeRawBufferPointer) throws { try wrapped.write(bytes) }
                func setIndex(_ index: Data) throws { try wrapped.setIndex(index) }
                func finish(rawByteCount: Int) throws -> CloudAsset { try wrapped.finish(rawByteCount: rawByteCount) }
                func abandon() { wrapped.abandon() }
            }
            func writer(_ writer: any AssetWriter, for record: String, in zone: ZoneID) throws -> any AssetWriter { Writer(writer) }
        }
        let cloudScratch = try ScratchDirectory()
        let directory = try DirectoryCloud.create(at: cloudScratch.path("cloud"), container: "iCloud.org.example")
        let scene = try await SyncScene(
            DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: SealedTestCloud(wrapped: directory).adding(Forgetful()))
        try scene.writer.run(DatasetSchema.manyRows(100))
        do {
            try await scene.export()
            Issue.record("it published")
        } catch let error as SyncError {
            #expect(error.reason.contains("the zone is sealed"))
        }
        #expect(try files(cloudScratch).isEmpty)
    }

    @Test(arguments: ["header", "block", "tail", "index", "changes"]) func anAlteredFileIsRefused(part: String) async throws {
        let plain = MemoryCloudDatabase()
        var scene = try await SyncScene(DatasetSchema.everyKindTable(), datasets: [.everyKind()], cloud: SealedTestCloud(wrapped: plain))
        try scene.writer.run(DatasetSchema.manyRows(9000))
        scene.rule.smallByteCount = 1000
        try await scene.export()
        let asset = try await scene.asset()
        var (path, offset) = (asset.fields.dataFile.path, 40)
        switch part {
        case "block": offset = asset.index.blocks[1].member.offset + 60
        case "tail": offset = asset.index.tail.offset + 10
        case "index": path = try #require(AssetPath(path)).indexPath
        case "changes":
            try await scene.importNewest()
            try scene.writer.run("UPDATE things SET count = -1 WHERE count = 5")
            path = try #require(await scene.export().written.first?.changes?.file)
        default: break
        }
        plain.damage(path, in: scene.zone) { $0?[offset] ^= 1 }
        await #expect(throws: SyncError.self) { try await scene.importNewest() }
        #expect(try await scene.engine("writer.db").inspector().verify(all: true, local: false).problems.count == 1)
    }
}
