import CloudStore
import Foundation
import StrictText
import Testing

/// Every backend keeps assets immutable, whole, and apart from what no commit names.
@Suite(.serialized) struct AssetContractTests {
    private let content: [UInt8] = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    private let index = Array("{\"blocks\":[]}".utf8)

    @Test(arguments: Backend.allCases)
    func anAssetAndItsIndexComeBackByteForByte(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset(content, index: index)
        #expect(asset.byteCount == content.count && asset.rawByteCount == content.count * 3 && asset.index?.byteCount == index.count)
        let parts = asset.path.split(separator: "/").map(String.init)
        #expect(parts[0] == "assets" && parts[1] == "item" && parts[2].hasPrefix("00000000000000000001-") && parts[2].hasSuffix(".json.gz"))
        try await test.save(asset)
        let named = try await test.cloud.records(in: .standard).record("item")?.fields["dataFile"]
        #expect(named == .asset(asset))
        let reader = try await test.cloud.openAsset(asset, in: .standard)
        #expect(try reader.all() == content)
        #expect(try reader.index() == Data(index))
    }

    @Test(arguments: Backend.allCases)
    func readersReadSideBySideAndNotBeyondTheEnd(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let reader = try await test.cloud.openAsset(try await test.asset(content), in: .standard)
        let content = content
        let wrong = await withTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var wrong = 0
                    for step in 0..<50 {
                        let offset = (task * 7919 + step * 104_729) % (content.count - 64)
                        var bytes = [UInt8](repeating: 0, count: 64)
                        try? bytes.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) }
                        if bytes != Array(content[offset..<offset + 64]) { wrong += 1 }
                    }
                    return wrong
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
        var byte: [UInt8] = [0]
        for offset in [content.count, -1, Int.max] {
            await expectCloudError(.damaged) { try byte.withUnsafeMutableBytes { try reader.read(into: $0, at: offset) } }
        }
        #expect(try reader.index() == nil)
    }

    @Test(arguments: Backend.allCases)
    func anEmptyAssetIsAnAsset(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset([], kind: .changes)
        #expect(asset.byteCount == 0 && asset.path.hasSuffix(".changes.json.gz"))
        #expect(try await test.cloud.openAsset(asset, in: .standard).all().isEmpty)
    }

    @Test(arguments: Backend.allCases)
    func anAssetThatHasNotArrivedIsPending(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset(content, index: index)
        try await test.save(asset)
        try test.damageAsset(asset.path.replacingOccurrences(of: ".json.gz", with: ".index.json")) {
            #expect($0 != nil); $0 = nil
        }
        let reader = try await test.cloud.openAsset(asset, in: .standard)
        await expectCloudError(.pending) { try reader.index() }
        try test.damageAsset(asset.path) { $0 = nil }
        let error = await expectCloudError(.pending) { try await test.cloud.openAsset(asset, in: .standard) }
        #expect(error?.isRetryable == true)
    }

    @Test(arguments: Backend.allCases)
    func aCutAssetAndAFlippedIndexAreDamage(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset(content, index: index)
        let indexPath = asset.path.replacingOccurrences(of: ".json.gz", with: ".index.json")
        for bit in 0..<index.count * 8 {
            try test.damageAsset(indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
            let reader = try await test.cloud.openAsset(asset, in: .standard)
            await expectCloudError(.damaged) { try reader.index() }
            try test.damageAsset(indexPath) { $0?[bit / 8] ^= 1 << (bit % 8) }
        }
        try test.damageAsset(asset.path) { _ = $0?.removeLast() }
        await expectCloudError(.damaged) { try await test.cloud.openAsset(asset, in: .standard) }
        try test.damageAsset(asset.path) { $0? += [0, 0] }
        await expectCloudError(.damaged) { try await test.cloud.openAsset(asset, in: .standard) }
    }

    @Test(arguments: Backend.allCases)
    func aCommitNeverNamesAnAssetThatIsNotThere(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset(content, index: index)
        try test.damageAsset(asset.path) { _ = $0?.removeLast() }
        await expectCloudError(.unknownItem) { try await test.save(asset) }
        await test.cloud.discard([asset], in: .standard)
        await expectCloudError(.unknownItem) { try await test.save(asset) }
    }

    @Test(arguments: Backend.allCases)
    func aRecordNamesItsOwnAssetsOnly(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let asset = try await test.asset(content, record: "other")
        await expectCloudError(.invalidArguments) { try await test.save(asset) }
        let future = try await test.asset(content, number: 2)
        await expectCloudError(.invalidArguments) { try await test.save(future) }
        for path in [
            "../../cloud.json", "/etc/passwd", "assets/item/../item/00000000000000000001-0a1b2c3d.json.gz", "assets/item", "",
            "assets//00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0a1b2c3d.json.gz/",
            "assets/item/1-0a1b2c3d.json.gz", "assets/item/00000000000000000001-0A1B2C3D.json.gz",
            "assets/.item/00000000000000000001-0a1b2c3d.json.gz", "assets/item/00000000000000000000-0a1b2c3d.json.gz",
            "assets/item/00000000000000000001-0a1b2c3d.json.gz\u{0}",
        ] {
            let named = CloudAsset(path: path, byteCount: 1, rawByteCount: 1, sha256: String(repeating: "0", count: 64), index: nil)
            await expectCloudError(.invalidArguments) { try await test.save(named) }
            await expectCloudError(.damaged) { try await test.cloud.openAsset(named, in: .standard) }
            await test.cloud.discard([named], in: .standard)
        }
        #expect(try await test.cloud.identity().container == "iCloud.org.example.test")
    }

    @Test(arguments: Backend.allCases)
    func discardTakesAwayWhatNoCommitNamesAndNothingElse(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let lost = try await test.asset(content, index: index), kept = try await test.asset(content, index: index)
        try await test.save(kept)
        await test.cloud.discard([lost, kept], in: .standard)
        await expectCloudError(.pending) { try await test.cloud.openAsset(lost, in: .standard) }
        try test.damageAsset(lost.path.replacingOccurrences(of: ".json.gz", with: ".index.json")) { #expect($0 == nil) }
        let reader = try await test.cloud.openAsset(kept, in: .standard)
        #expect(try reader.all() == content && reader.index() == Data(index))
    }

    @Test(arguments: Backend.allCases)
    func aWriterIsUsedOnce(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let finished = try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: .standard)
        try finished.setIndex(Data(index))
        await expectCloudError(.invalidArguments) { try finished.setIndex(Data(index)) }
        let asset = try finished.finish(rawByteCount: 0)
        await expectCloudError(.invalidArguments) { try finished.finish(rawByteCount: 0) }
        finished.abandon()
        _ = try await test.cloud.openAsset(asset, in: .standard)
        let abandoned = try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: .standard)
        try content.withUnsafeBytes { try abandoned.write($0) }
        abandoned.abandon()
        await expectCloudError(.invalidArguments) { try content.withUnsafeBytes { try abandoned.write($0) } }
        await expectCloudError(.invalidArguments) { try await test.cloud.newAsset(for: "item", number: 0, kind: .snapshot, in: .standard) }
        await expectCloudError(.zoneNotFound) { try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: ZoneID("None")) }
    }

    @Test(arguments: Backend.allCases)
    func twoAttemptsAtOneNumberDoNotMeet(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let assets = [try await test.asset([1], number: 9), try await test.asset([2], number: 9)]
        #expect(assets[0].path != assets[1].path)
        for (asset, byte) in zip(assets, [UInt8(1), 2]) { #expect(try await test.cloud.openAsset(asset, in: .standard).all() == [byte]) }
    }
}
