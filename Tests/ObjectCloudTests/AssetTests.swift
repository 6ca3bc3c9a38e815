import CloudStore
import Foundation
import StrictText
import Synchronization
import Testing

@testable import ObjectCloud

/// Large assets and small ones, and how many requests they take.
struct ObjectAssetTests {
    private func zone(_ store: FakeStore) async throws -> ObjectCloud {
        let cloud = try ObjectCloud.create(client: store.client(), container: "iCloud.org.example.test").cloud
        _ = try await cloud.createZone(.standard, creator: "phone", publishers: .one)
        return cloud
    }

    /// Bytes that repeat after a prime number of them, so that no part or range equals the next one.
    private func bytes(_ count: Int) -> [UInt8] {
        let some = (0..<65521).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        var all: [UInt8] = []
        all.reserveCapacity(count + some.count)
        while all.count < count { all += some }
        return Array(all.prefix(count))
    }

    private func write(_ bytes: [UInt8], to cloud: ObjectCloud, by step: Int = 1 << 20) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: "notes_data", number: 1, kind: .snapshot, in: .standard)
        try bytes.withUnsafeBytes { all in
            for begin in stride(from: 0, to: all.count, by: step) {
                try writer.write(UnsafeRawBufferPointer(rebasing: all[begin..<min(begin + step, all.count)]))
            }
        }
        return try writer.finish(rawByteCount: bytes.count)
    }

    @Test(arguments: [1, 1000, ObjectAssetWriter.partBytes, ObjectAssetWriter.partBytes + 1, 2 * ObjectAssetWriter.partBytes + 12345])
    func anAssetOfAnySizeComesBack(_ count: Int) async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let bytes = bytes(count)
        let asset = try await write(bytes, to: cloud, by: 777_777)
        #expect(asset.byteCount == count && asset.sha256 == ContentHash.of(bytes))
        #expect(store.requests.contains { $0.url.contains("uploads") } == (count > ObjectAssetWriter.partBytes))
        let reader = try await cloud.openAsset(asset, in: .standard)
        var found = [UInt8](repeating: 0, count: count)
        let before = store.requests.count
        try found.withUnsafeMutableBytes { all in
            for begin in stride(from: 0, to: count, by: 100_000) {
                try reader.read(into: UnsafeMutableRawBufferPointer(rebasing: all[begin..<min(begin + 100_000, count)]), at: begin)
            }
        }
        #expect(found == bytes)
        // Reading ahead: windows that double up to 4 MiB.
        #expect(store.requests.count - before <= count / ObjectAssetReader.windowBytes + 10)
    }

    @Test func rangesHereAndThereTakeNoMoreThanTheirBytes() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let bytes = bytes(3_000_000)
        let asset = try await write(bytes, to: cloud)
        let reader = try await cloud.openAsset(asset, in: .standard)
        let before = cloud.usage.bytesReceived
        var found = [UInt8](repeating: 0, count: 5000)
        for begin in [2_900_000, 1_000_000, 500_000, 2_000_000] {
            try found.withUnsafeMutableBytes { try reader.read(into: $0, at: begin) }
            #expect(found.elementsEqual(bytes[begin..<begin + 5000]))
        }
        #expect(cloud.usage.bytesReceived - before == 4 * 5000)
    }

    /// Announced ranges that lie side by side are one request, and several requests are under way at a time.
    @Test func announcedRangesAreFetchedTogetherAndAhead() async throws {
        let store = SlowStore(FakeStore())
        let cloud = try ObjectCloud.create(client: store.client(), container: "iCloud.org.example.test").cloud
        _ = try await cloud.createZone(.standard, creator: "phone", publishers: .one)
        let bytes = bytes(9_000_000)
        let reader = try await cloud.openAsset(try await write(bytes, to: cloud), in: .standard)
        // Ten blocks side by side, and five alone.
        let ranges = (0..<10).map { 1_000_000 + $0 * 1000..<1_001_000 + $0 * 1000 } + (2...6).map { $0 * 1_000_000..<$0 * 1_000_000 + 500 }
        let before = cloud.usage
        store.waits.withLock { $0 = true }
        reader.expect(ranges)
        for range in ranges {
            var found = [UInt8](repeating: 0, count: range.count)
            try found.withUnsafeMutableBytes { try reader.read(into: $0, at: range.lowerBound) }
            #expect(found.elementsEqual(bytes[range]))
        }
        let used = try #require(cloud.usage.since(before))
        #expect(used.reads == 6 && used.bytesReceived == 12_500, "\(used)")
        #expect(store.running.withLock { $0.most } > 1)
    }

    @Test func severalThreadsReadOneAsset() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let bytes = bytes(6_000_000)
        let reader = try await cloud.openAsset(try await write(bytes, to: cloud), in: .standard)
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 60) { number in
            var found = [UInt8](repeating: 0, count: 100_000)
            let isRight = (try? found.withUnsafeMutableBytes { try reader.read(into: $0, at: number * 100_000) }) != nil
            if !isRight || !found.elementsEqual(bytes[number * 100_000..<(number + 1) * 100_000]) { wrong.withLock { $0 += 1 } }
        }
        #expect(wrong.withLock { $0 } == 0)
    }

    @Test func anAbandonedUploadLeavesNothing() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let writer = try await cloud.newAsset(for: "notes_data", number: 1, kind: .snapshot, in: .standard)
        try bytes(ObjectAssetWriter.partBytes + 10).withUnsafeBytes { try writer.write($0) }
        #expect(store.state.withLock { $0.uploads.count } == 1)
        writer.abandon()
        #expect(store.state.withLock { $0.uploads.isEmpty && !$0.objects.keys.contains { $0.contains("assets") } })
    }

    @Test func uploadsThatKilledRunsLeftAreListedAndRemoved() async throws {
        let store = FakeStore(pageLimit: 2)
        let cloud = try await zone(store)
        for _ in 1...5 {
            let writer = try await cloud.newAsset(for: "notes_data", number: 1, kind: .snapshot, in: .standard)
            try bytes(ObjectAssetWriter.partBytes + 10).withUnsafeBytes { try writer.write($0) }
        }
        let left = try await cloud.storedFiles(in: .standard).filter { $0.kind == .temporary }
        #expect(left.count == 5 && left.allSatisfy { $0.path.hasPrefix("assets/notes_data/") && $0.modified.description == "2026-11-01T00:00:00.000Z" })
        try BucketStore(client: try store.client()).remove(left.map { "\(ZoneID.standard)/\($0.path)" })
        #expect(store.state.withLock { $0.uploads.isEmpty })
    }

    @Test func anAssetThatWasExchangedIsTold() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let asset = try await write(bytes(5000), to: cloud)
        store.state.withLock { $0.objects["app/private/ZentikSyncZone/\(asset.path)"] = [1, 2, 3] }
        await #expect(throws: CloudError.self) { try await cloud.openAsset(asset, in: .standard) }
        store.state.withLock { $0.objects["app/private/ZentikSyncZone/\(asset.path)"] = nil }
        let error = await #expect(throws: CloudError.self) { try await cloud.openAsset(asset, in: .standard) }
        #expect(error?.code == .pending)
    }

    @Test(arguments: [0, 100, 2_999_999, 3_000_001]) func anAssetThatIsReplacedBetweenTwoRangesIsTold(_ count: Int) async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let asset = try await write(bytes(3_000_000), to: cloud)
        let reader = try await cloud.openAsset(asset, in: .standard)
        var found = [UInt8](repeating: 0, count: 1000)
        try found.withUnsafeMutableBytes { try reader.read(into: $0, at: 1_000_000) }
        store.state.withLock { $0.objects["app/private/ZentikSyncZone/\(asset.path)"] = [UInt8](repeating: 1, count: count) }
        let error = #expect(throws: CloudError.self) { try found.withUnsafeMutableBytes { try reader.read(into: $0, at: 2_000_000) } }
        #expect(error?.code == .damaged && error?.isRetryable == true)
    }

    @Test func aPlaceWithOtherObjectsIsNoCloud() async throws {
        let store = FakeStore()
        store.state.withLock { $0.objects["app/photo.jpg"] = [1] }
        let making = #expect(throws: CloudError.self) { try ObjectCloud.create(client: store.client(), container: "iCloud.org.example.test") }
        let opening = #expect(throws: CloudError.self) { try ObjectCloud(client: store.client(), expecting: nil) }
        #expect(making?.code == .notACloud && opening?.code == .notACloud)
        #expect(store.state.withLock { Array($0.objects.keys) } == ["app/photo.jpg"])
    }

    /// A trial that is not passed leaves nothing, and one that was killed stops no later set-up.
    @Test func aCloudIsMadeOnlyAfterTheTrial() throws {
        struct Refused: Error {}
        let store = FakeStore()
        let client = try store.client()
        #expect(throws: Refused.self) { try ObjectCloud.create(client: client, container: "iCloud.org.example.test") { throw Refused() } }
        #expect(store.state.withLock { $0.objects.isEmpty })
        store.state.withLock { $0.objects["app/probe-0123456789abcdef/first"] = [1] }
        #expect(try ObjectCloud.create(client: client, container: "iCloud.org.example.test").isNew)
    }

    @Test func zonesAreFoundWithoutListingWhatIsInThem() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        for number in 1...30 { _ = try await cloud.createZone(ZoneID("Zone\(number)"), creator: "phone", publishers: .one) }
        store.state.withLock { state in for number in 0..<5000 { state.objects["app/private/Zone7/assets/x/\(number)"] = [1] } }
        let other = try ObjectCloud(client: store.client(), expecting: nil)
        let before = store.requests.count
        #expect(try await other.zones().count == 31)
        #expect(store.requests.count - before == 2 + 31)
    }

    /// Many objects are removed with one request, and one by one where a server does not know it.
    @Test(arguments: [false, true]) func manyObjectsAreRemovedWithOneRequest(isOld: Bool) async throws {
        let store = FakeStore(isOld: isOld)
        let client = try store.client()
        let paths = (1...1500).map { "private/zone/assets/x/\($0)" }
        store.state.withLock { state in for path in paths + ["private/zone/other"] { state.objects["app/\(path)"] = [1] } }
        try client.remove(paths)
        #expect(store.state.withLock { $0.objects.keys.map(\.self) } == ["app/private/zone/other"])
        #expect(store.requests.count == (isOld ? 1502 : 2))
    }

    /// Whoever has read version 1 and looks again asks for the next commit and the newest, and lists nothing.
    @Test func aLookThatFindsNothingIsTwoRequests() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let draft = CommitDraft(device: "phone", saving: [CloudRecord(type: "Note", name: "note", fields: ["text": .string("a")])], clock: .now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        let before = store.requests.count
        _ = try await cloud.changes(since: token, in: .standard)
        let asked = store.requests.dropFirst(before)
        #expect(asked.map(\.method) == ["GET", "GET"] && !asked.contains { $0.url.contains("list-type") })
        let key = try #require(store.state.withLock { $0.objects.keys.first { $0.contains("/commits/") } })
        #expect(asked.contains { $0.url.contains(key) })
        store.state.withLock { $0.objects[key]![100] ^= 1 }
        let error = await #expect(throws: CloudError.self) { _ = try await cloud.changes(since: token, in: .standard) }
        #expect(error?.code == .rolledBack || error?.code == .damaged)
    }

    /// A device that knows the cloud opens it without a request, and still finds out that another one, or none, is in the place.
    @Test func aKnownCloudIsOpenedWithoutARequest() async throws {
        let store = FakeStore()
        let made = try await zone(store)
        let draft = CommitDraft(device: "phone", saving: [CloudRecord(type: "Note", name: "note", fields: ["text": .string("a")])], clock: .now)
        let token = try await made.publish(try await made.prepare(draft, after: nil, in: .standard))
        let uuid = try await made.identity().uuid
        let before = store.requests.count
        let known = try ObjectCloud(client: store.client(), expecting: uuid, container: "iCloud.org.example.test")
        #expect(try await known.changes(since: token, in: .standard).commits.isEmpty)
        #expect(store.requests.dropFirst(before).allSatisfy { $0.url.contains("/commits/") } && store.requests.count == before + 2)

        let report = DeviceReport(device: "phone", role: "writer", token: token, clock: .now, nonce: nil)
        let misled = try ObjectCloud(client: store.client(), expecting: uuid, container: "iCloud.org.example.other")
        let reporting = await #expect(throws: CloudError.self) { try await misled.report(report, in: .standard) }
        #expect(reporting?.code == .badContainer)

        let another = FakeStore()
        let cloud = try await zone(another)
        _ = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        for (store, code) in [(another, CloudError.Code.badContainer), (FakeStore(), .cloudUnavailable)] {
            let gone = try ObjectCloud(client: store.client(), expecting: uuid)
            let error = await #expect(throws: CloudError.self) { _ = try await gone.changes(since: token, in: .standard) }
            #expect(error?.code == code)
        }
    }

    @Test func aDeviceKeepsOneReport() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let draft = CommitDraft(device: "phone", saving: [CloudRecord(type: "Note", name: "note", fields: ["text": .string("a")])], clock: .now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        let reading = try ObjectCloud(client: store.client(), expecting: try await cloud.identity().uuid)
        for nonce in ["a", "b", "c"] {
            try await reading.report(DeviceReport(device: "watch", role: "reader", token: token, clock: .now, nonce: nonce), in: .standard)
        }
        #expect(try await reading.deviceReport(of: "watch", in: .standard)?.nonce == "c")
        #expect(store.state.withLock { $0.objects.keys.count { $0.contains("/devices/watch/") } } == 1)
    }

    /// What a large asset has in common with another one is copied on the server, and the bytes come out the same.
    @Test(arguments: [true, false]) func bytesOfALargeAssetAreCopiedOnTheServer(_ isOffered: Bool) async throws {
        let store = FakeStore { request in
            !isOffered && request.headers.contains { $0.name == "x-amz-copy-source" } ? .refused(501, code: "NotImplemented") : nil
        }
        let cloud = try await zone(store)
        let old = bytes(60 << 20)
        let asset = try await write(old, to: cloud)
        let reader = try await cloud.openAsset(asset, in: .standard)
        let step = 128 << 10
        // A new beginning, all but a few blocks of the old asset, a block in another place, and a new end.
        var expected = bytes(1 << 20)
        let writer = try await cloud.newAsset(for: "notes_data", number: 2, kind: .snapshot, in: .standard)
        try expected.withUnsafeBytes { try writer.write($0) }
        let before = cloud.usage.bytesSent
        for begin in stride(from: 0, to: old.count, by: step) {
            let block = Array(old[begin..<begin + step])
            if begin == 20 << 20 {
                try [UInt8](repeating: 7, count: 1000).withUnsafeBytes { try writer.write($0) }
                expected += [UInt8](repeating: 7, count: 1000)
            } else {
                try block.withUnsafeBytes { try writer.write($0, copying: reader, at: begin) }
                expected += block
            }
        }
        try [UInt8](repeating: 9, count: 5).withUnsafeBytes { try writer.write($0) }
        expected += [UInt8](repeating: 9, count: 5)
        let made = try writer.finish(rawByteCount: 1)
        #expect(made.sha256 == ContentHash.of(expected) && made.byteCount == expected.count)
        #expect(store.state.withLock { $0.objects["app/private/ZentikSyncZone/\(made.path)"] } == expected)
        if isOffered { #expect(cloud.usage.bytesSent - before < 12 << 20) }
    }

    @Test func anObjectThatWasReplacedWhileItWasCopiedIsTold() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let old = bytes(30 << 20)
        let asset = try await write(old, to: cloud)
        let reader = try await cloud.openAsset(asset, in: .standard)
        let writer = try await cloud.newAsset(for: "notes_data", number: 2, kind: .snapshot, in: .standard)
        let step = 128 << 10
        for begin in stride(from: 0, to: 20 << 20, by: step) {
            try Array(old[begin..<begin + step]).withUnsafeBytes { try writer.write($0, copying: reader, at: begin) }
        }
        store.state.withLock { $0.objects["app/private/ZentikSyncZone/\(asset.path)"] = [UInt8](repeating: 0, count: 30 << 20) }
        let error = #expect(throws: CloudError.self) { try writer.finish(rawByteCount: 1) }
        #expect(error?.code == .damaged)
        writer.abandon()
        #expect(store.state.withLock { $0.uploads.isEmpty })
    }

    @Test func aStoreThatOverwritesIsFoundOut() throws {
        let good = try BucketProbe(FakeStore().client())
        #expect(good.isSafeForMany && good.findings.allSatisfy(\.isKept), "\(good.findings)")
        let bad = try BucketProbe(FakeStore(ignoresCondition: true).client())
        #expect(!bad.isSafeForMany)
        #expect(bad.findings.contains { $0.name == "second-put" && !$0.isKept })
        let refusing = try BucketProbe(FakeStore { $0.method == "PUT" ? .refused(501, code: "NotImplemented") : nil }.client())
        #expect(!refusing.isSafeForMany)
        let late = try BucketProbe(FakeStore(date: { FakeStore.text(of: Date().addingTimeInterval(1200)) }).client())
        #expect(late.isSafeForMany && late.findings.contains { $0.name == "clock" && !$0.isKept })
    }

    @Test func theProbeLeavesNothing() throws {
        let store = FakeStore()
        _ = try BucketProbe(store.client())
        #expect(store.state.withLock { $0.objects.isEmpty })
    }
}

/// A store whose requests last until another one is under way, for a minute at most.
private final class SlowStore: ObjectTransport {
    let waits = Mutex(false)
    let running = Mutex((now: 0, most: 0))
    private let store: FakeStore

    init(_ store: FakeStore) { self.store = store }

    func client() throws -> ObjectClient {
        ObjectClient(
            try store.client().location, transport: self, credentials: FixedCredentials(ObjectCredentials(accessKey: "AKIDEXAMPLE", secretKey: "canary")))
    }

    func send(_ request: ObjectRequest) throws(TransportFault) -> ObjectResponse {
        running.withLock { running in
            running.now += 1
            running.most = max(running.most, running.now)
        }
        defer { running.withLock { $0.now -= 1 } }
        for _ in 0..<60_000 where waits.withLock({ $0 }) && running.withLock({ $0.most }) < 2 { Thread.sleep(forTimeInterval: 0.001) }
        return try store.send(request)
    }
}
