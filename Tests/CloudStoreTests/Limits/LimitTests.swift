import CloudStore
import RecordZones
import Foundation
import StrictText
import Testing

struct LimitTests {
    private func zone(_ limits: CloudLimits) async throws -> CloudZone {
        let cloud = MemoryCloudDatabase().limited(to: limits)
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .one)
        return CloudZone(.standard, of: cloud, as: "writer")
    }

    private func item(_ name: String, byteCount: Int = 0) -> CloudRecord {
        CloudRecord(type: "Item", name: name, fields: ["data": .bytes(Data(count: byteCount))])
    }

    @Test func onlyAssetsAreLimitedUnlessAsked() {
        #expect(CloudLimits.standard == CloudLimits(bytesPerAsset: 250_000_000))
        #expect(CloudLimits.cloudKit.itemsPerRequest == 400)
    }

    @Test func tooManyItemsAreToldToBeSplit() async throws {
        let zone = try await zone(CloudLimits(itemsPerRequest: 3))
        try await zone.modify(saving: ["a", "b", "c"].map { item($0) }).get()
        let error = await expectCloudError(.limitExceeded) { try await zone.modify(saving: ["d", "e"].map { item($0) }, deleting: ["a", "b"]) }
        #expect(error?.hint?.contains("split") == true && error?.isRetryable == false)
        #expect(try await zone.records(["d", "a"]).mapValues { (try? $0.get()) != nil } == ["d": false, "a": true])
    }

    @Test func recordsAndRequestsHaveTheirSizes() async throws {
        let zone = try await zone(CloudLimits(bytesPerRequest: 5000, bytesPerRecord: 2000))
        await expectCloudError(.limitExceeded) { try await zone.save(item("large", byteCount: 2000)) }
        await expectCloudError(.limitExceeded) {
            try await zone.modify(saving: ["a", "b", "c", "d"].map { item($0, byteCount: 1000) })
        }
        try await zone.modify(saving: ["a", "b", "c"].map { item($0, byteCount: 1000) }).get()
    }

    @Test func anAssetStopsAtItsLimit() async throws {
        let zone = try await zone(CloudLimits(bytesPerAsset: 10))
        let fits = try await zone.upload(Data(count: 10), for: "item")
        #expect(try await zone.content(of: fits).count == 10)
        await expectCloudError(.limitExceeded) { try await zone.upload(Data(count: 11), for: "item") }
        await expectCloudError(.limitExceeded) { try await zone.content(of: fits, limit: 9) }
    }

    @Test func aCommitThatNoFileCouldHoldIsToldToBeSplit() async throws {
        let zone = try await zone(.standard)
        await expectCloudError(.limitExceeded) {
            try await zone.modify(saving: (0..<5).map { item("r\($0)", byteCount: 4 << 20) })
        }
    }
}
