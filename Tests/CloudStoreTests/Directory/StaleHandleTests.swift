import CloudStore
import DirectoryCloud
import Foundation
import Glibc
import StrictText
import Synchronization
import TestSupport
import Testing

/// A handle that a server no longer knows (`ESTALE`) is opened again by name, and what lies there decides.
@Suite(.serialized) struct StaleHandleTests {
    /// A zone with one commit that names an asset with its index.
    private func start() async throws -> (DirectoryUnderTest, ChangeToken) {
        let test = try DirectoryUnderTest(inMemory: true)
        try await test.zone()
        let writer = try await test.cloud.newAsset(for: "item", number: 1, kind: .snapshot, in: .standard)
        try writer.setIndex(Data("{}".utf8))
        try Array(repeating: UInt8(7), count: 3000).withUnsafeBytes { try writer.write($0) }
        let record = CloudRecord(type: "Item", name: "item", fields: ["dataFile": .asset(try writer.finish(rawByteCount: 9000))])
        let commit = try await test.cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: nil, in: .standard)
        return (test, try await test.cloud.publish(commit))
    }

    private func cloud(_ test: DirectoryUnderTest, _ calls: FaultyFileSystem) throws -> DirectoryCloud {
        try DirectoryCloud(path: test.scratch.path, expecting: nil, calls: calls, nonces: .system)
    }

    /// Everything that a reader and a publisher of a small commit do.
    private func work(on cloud: DirectoryCloud, after token: ChangeToken) async throws -> ChangeToken {
        let state = try await cloud.records(in: .standard)
        let asset = try #require(state.records.flatMap(\.assets).first)
        let reader = try await cloud.openAsset(asset, in: .standard)
        #expect(ContentHash.of(try reader.all()) == asset.sha256)
        #expect(try reader.index() == Data("{}".utf8))
        #expect(try await cloud.changes(since: token, in: .standard).commits.isEmpty)
        let record = CloudRecord(type: "Item", name: "other", fields: [:])
        let commit = try await cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: token, in: .standard)
        let published = try await cloud.publish(commit)
        try await cloud.report(DeviceReport(device: "writer", role: "writer", token: published, clock: .now, nonce: nil), in: .standard)
        return published
    }

    @Test(arguments: [false, true]) func anyHandleThatGoesStaleOnceIsOpenedAgain(hasNames: Bool) async throws {
        @Sendable func refusal(_ call: FaultyFileSystem.Call) -> FaultyFileSystem.Fault? {
            hasNames && call.name == "createNameless" ? .refused(EOPNOTSUPP) : nil
        }
        let (first, token) = try await start()
        let counting = FaultyFileSystem { refusal($0) }
        _ = try await work(on: try cloud(first, counting), after: token)
        #expect(counting.calls.count > 60)
        // A close that reports an error has closed all the same, and what was only read is whole.
        for call in counting.calls where (call.name != "close" || call.target.isEmpty) && (Sample.isWhole || call.index % 4 == (hasNames ? 1 : 3)) {
            let (test, token) = try await start()
            let faulty = FaultyFileSystem { $0.index == call.index ? .refused(ESTALE) : refusal($0) }
            let published = try await work(on: try cloud(test, faulty), after: token)
            #expect(try await test.cloud.records(in: .standard).token == published, "\(call)")
            #expect(published.number == 2, "\(call)")
            #expect(faulty.openCount == 0 && faulty.repeatedSyncs == 0, "\(call)")
        }
    }

    @Test(arguments: ["link", "fsync"]) func whatWasDoneAndReportedStaleIsFoundByName(_ name: String) async throws {
        let (test, token) = try await start()
        let wasHit = Mutex(false)
        let faulty = FaultyFileSystem { call in
            wasHit.withLock { wasHit in
                guard !wasHit, call.name == name, name == "fsync" ? call.target.hasSuffix("commits") : call.target == "\(twentyDigits(2)).json" else {
                    return nil
                }
                wasHit = true
                return .doneButReported(ESTALE)
            }
        }
        #expect(try await work(on: try cloud(test, faulty), after: token).number == 2)
        #expect(wasHit.withLock { $0 })
    }

    @Test func handleThatStaysStaleEndsWithAnErrorThatIsWorthATry() async throws {
        let (test, token) = try await start()
        let faulty = FaultyFileSystem { $0.name == "fstat" && $0.target.hasSuffix("\(twentyDigits(1)).json") ? .refused(ESTALE) : nil }
        let cloud = try cloud(test, faulty)
        let error = await expectCloudError(.serverResponseLost) { try await cloud.changes(since: token, in: .standard) }
        #expect(error?.isRetryable == true && error?.place.hasSuffix("commits/\(twentyDigits(1)).json") == true)
        #expect(faulty.openCount == 0)
    }

    /// A commit whose clock says that it is old counts as arriving while it is seen to grow.
    @Test func fileThatGrowsIsArrivingWhateverItsTime() async throws {
        let (test, token) = try await start()
        let name = "\(DirectoryUnderTest.zonePath)/commits/\(twentyDigits(2)).json", path = "\(test.scratch.path)/\(name)"
        let isGrowing = Mutex(true), count = Mutex(1)
        @Sendable func write() {
            let size = count.withLock {
                $0 += 1; return $0
            }
            _ = FileManager.default.createFile(atPath: path, contents: Data(repeating: UInt8(ascii: "{"), count: size))
            try? FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: path)
        }
        write()
        let calls = FaultyFileSystem { call in
            if call.name == "open", call.target.hasSuffix("\(twentyDigits(2)).json"), isGrowing.withLock({ $0 }) { write() }
            return nil
        }
        let cloud = try cloud(test, calls)
        await expectCloudError(.pending) { try await cloud.changes(since: token, in: .standard) }
        isGrowing.withLock { $0 = false }
        await expectCloudError(.damaged) { try await cloud.changes(since: token, in: .standard) }
    }
}
