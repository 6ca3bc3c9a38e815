import CloudStore
import CommitLog
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

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

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
        let zone = ObjectZone(
            history: HistoryID(cloud: "c", zone: .standard), ends: VerifiedHeadCache(), client: try store.client(), authority: ZoneAuthority(),
            cache: ZoneCache())
        for file in left { try zone.removeFile(file.path) }
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

    @Test func theReportsOfADeviceAreListedOnce() async throws {
        let store = FakeStore()
        let cloud = try await zone(store)
        let draft = CommitDraft(device: "phone", saving: [CloudRecord(type: "Note", name: "note", fields: ["text": .string("a")])], clock: .now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        for nonce in ["a", "b", "c"] {
            try await cloud.report(DeviceReport(device: "phone", role: "writer", token: token, clock: .now, nonce: nonce), in: .standard)
        }
        #expect(store.requests.count { $0.url.contains("list-type") && $0.url.contains("devices") } == 1)
        #expect(try await cloud.deviceReport(of: "phone", in: .standard)?.nonce == "c")
        #expect(store.state.withLock { $0.objects.keys.count { $0.contains("/devices/phone/") } } == 1)
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
