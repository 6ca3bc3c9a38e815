import CloudStore
import RecordZones
import Foundation
import TestSupport
import Testing

struct AssetCopyTests {
    @Test func anAssetIsCopiedToANewFileOrNotAtAll() async throws {
        let test = MemoryUnderTest(), scratch = try ScratchDirectory()
        try await test.zone()
        let zone = CloudZone(.standard, of: test.cloud, as: "writer")
        let content = Data((0..<700_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
        let asset = try await zone.upload(content, for: "item")
        let file = URL(fileURLWithPath: "\(scratch.path)/copy")
        try await zone.copy(asset, to: file)
        #expect(try Data(contentsOf: file) == content)
        await expectCloudError(.invalidArguments) { try await zone.copy(asset, to: file) }
        #expect(try scratch.tree() == ["copy"])
        try test.damageAsset(asset.path) { $0?[600_000] ^= 1 }
        let second = URL(fileURLWithPath: "\(scratch.path)/second")
        await expectCloudError(.damaged) { try await zone.copy(asset, to: second) }
        await expectCloudError(.damaged) { try await zone.content(of: asset) }
        #expect(try scratch.tree() == ["copy"])
    }
}
