import CloudStore
import RecordZones
import Foundation
import StrictText
import Synchronization
import Testing

struct LimitTests {
    private func zone(_ limits: CloudLimits, elapsed: (@Sendable () -> Duration)? = nil) async throws -> CloudZone {
        let cloud = MemoryCloudDatabase().limited(to: limits, elapsed: elapsed)
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

    @Test func aFullCloudTakesWhatMakesItSmaller() async throws {
        let zone = try await zone(CloudLimits(quota: 3000))
        let first = try await zone.save(item("a", byteCount: 1500))
        let error = await expectCloudError(.quotaExceeded) { try await zone.save(item("b", byteCount: 1500)) }
        #expect(error?.isRetryable == false)
        #expect(try await zone.record("a") == first)
        try await zone.modify(saving: [item("b", byteCount: 1500)], deleting: ["a"]).get()
        await expectCloudError(.quotaExceeded) { try await zone.save(item("c", byteCount: 1000)) }
        try await zone.delete("b")
        try await zone.save(item("c", byteCount: 1500))
    }

    @Test func assetsCountTowardsTheQuota() async throws {
        let zone = try await zone(CloudLimits(quota: 3000))
        var record = item("a")
        record.fields["file"] = .asset(try await zone.upload(Data(count: 4000), for: "a"))
        await expectCloudError(.quotaExceeded) { try await zone.save(record) }
    }

    @Test func tooManyRequestsAreToldWhenToComeBack() async throws {
        let time = Mutex(Duration.zero)
        // Saving a new record is two requests: reading the zone and the commit; what is published after that is part of the latter.
        let zone = try await zone(
            CloudLimits(rate: CloudLimits.Rate(requests: 2, window: .seconds(10))), elapsed: { time.withLock { $0 } })
        time.withLock { $0 = .seconds(1) }
        await #expect(throws: Never.self) { _ = try await zone.records(["a"]) }
        time.withLock { $0 = .seconds(3) }
        await #expect(throws: Never.self) { _ = try await zone.records(["a"]) }
        time.withLock { $0 = .seconds(5) }
        let error = await expectCloudError(.requestRateLimited) { try await zone.records(["a"]) }
        #expect(error?.retryAfter == .seconds(6) && error?.isRetryable == true)
        time.withLock { $0 = .seconds(11) }
        await #expect(throws: Never.self) { _ = try await zone.records(["a"]) }
        await expectCloudError(.requestRateLimited) { try await zone.records(["a"]) }
    }

    @Test func aCommitThatNoFileCouldHoldIsToldToBeSplit() async throws {
        let zone = try await zone(.standard)
        await expectCloudError(.limitExceeded) {
            try await zone.modify(saving: (0..<5).map { item("r\($0)", byteCount: 4 << 20) })
        }
    }
}
