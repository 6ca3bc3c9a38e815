import CloudStore
import Foundation
import StrictText
import Synchronization
import TestSupport
import Testing

@testable import CloudKitCloud

/// How the backend uses CloudKit: what it asks for, how often, and what it makes of the answers.
struct CloudKitStoreTests {
    private func store(_ fake: FakeCloudKit, public all: FakeCloudKit? = nil, retry: RetryPolicy = .impatient()) -> CloudKitStore {
        CloudKitStore(fake, public: all, retry: retry, nonces: .system, now: { .now })
    }

    private let first = "private/Notes/commits/00000000000000000001.json"

    private func zone(_ store: CloudKitStore) throws { _ = try store.put(Array("{}".utf8), as: "private/Notes/zone.json") }

    @Test func ofManyWritersOneWins() async throws {
        let fake = FakeCloudKit(), store = store(fake), path = first
        try zone(store)
        let outcomes = try await withThrowingTaskGroup(of: Placement.self) { group in
            for number in 1...16 { group.addTask { try store.put(Array("writer \(number)".utf8), as: path) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { if case .placed = $0 { true } else { false } } == 1)
        #expect(outcomes.count { if case .taken = $0 { true } else { false } } == 15)
    }

    @Test func theSameBytesWereThere() throws {
        let store = store(FakeCloudKit())
        try zone(store)
        guard case .placed = try store.put([1], as: first), case .wasThere = try store.put([1], as: first), case .taken = try store.put([2], as: first) else {
            Issue.record("placed, wasThere, taken were expected")
            return
        }
        #expect(try store.get(first, limit: 1) == [1])
        let error = #expect(throws: CloudError.self) { try store.get(first, limit: 0) }
        #expect(error?.code == .limitExceeded)
    }

    /// A save that was done although the network failed is found out by a look; one that nobody can find out about is told as such.
    @Test func aSaveWithoutAnAnswerIsLookedFor() throws {
        let failing = Mutex(0)
        let fake = FakeCloudKit { request in
            guard request == .modify, failing.withLock({ $0 > 0 }) else { return nil }
            failing.withLock { $0 -= 1 }
            return .doneBut(CloudKitError(.networkFailure))
        }
        let store = store(fake)
        try zone(store)
        failing.withLock { $0 = 1 }
        let before = fake.state.withLock { $0.requests.count }
        guard case .placed = try store.put([1], as: first) else {
            Issue.record("the save was done")
            return
        }
        // The save, its size, its bytes.
        #expect(fake.state.withLock { Array($0.requests.dropFirst(before)) } == [.modify, .records, .records])

        let dead = self.store(FakeCloudKit { $0 == .createZone ? nil : .refused(CloudKitError(.networkFailure)) })
        let error = #expect(throws: CloudError.self) { try dead.put([1], as: first) }
        #expect(error?.code == .serverResponseLost)
        let offline = self.store(FakeCloudKit { _ in .refused(CloudKitError(.networkUnavailable)) })
        let other = #expect(throws: CloudError.self) { try offline.put([1], as: first) }
        #expect(other?.code == .cloudUnavailable && other?.isRetryable == true)
    }

    @Test func cloudKitsPatienceIsKept() throws {
        let waits = Mutex<[Duration]>([]), count = Counter()
        var retry = CloudKitStore.standardRetry
        retry.sleep = { wait in waits.withLock { $0.append(wait) } }
        let fake = FakeCloudKit { _ in
            let number = count.next()
            return number <= 2 ? .refused(CloudKitError(number == 1 ? .zoneBusy : .requestRateLimited, retryAfter: .seconds(7 * number))) : nil
        }
        _ = try store(fake, retry: retry).size(of: "cloud.json")
        #expect(waits.withLock { $0 } == [.seconds(7), .seconds(14)])
        // A day is nobody's patience.
        count.reset()
        waits.withLock { $0 = [] }
        let busy = FakeCloudKit { _ in .refused(CloudKitError(.requestRateLimited, retryAfter: .seconds(86400))) }
        let error = #expect(throws: CloudError.self) { try store(busy, retry: retry).size(of: "cloud.json") }
        #expect(error?.code == .requestRateLimited && error?.retryAfter == .seconds(86400))
        #expect(waits.withLock { $0 } == Array(repeating: .seconds(60), count: 5))
    }

    @Test(arguments: [
        (CloudKitError.Code.notAuthenticated, CloudError.Code.notAuthenticated), (.quotaExceeded, .quotaExceeded), (.permissionFailure, .permissionFailure),
        (.userDeletedZone, .userDeletedZone), (.managedAccountRestricted, .managedAccountRestricted), (.limitExceeded, .limitExceeded),
        (.badContainer, .badContainer), (.missingEntitlement, .permissionFailure), (.badDatabase, .invalidArguments),
        (.accountTemporarilyUnavailable, .accountTemporarilyUnavailable), (.serverRejectedRequest, .inputOutput), (.zoneNotFound, .zoneNotFound),
    ])
    func errorsHaveThisLibrarysWords(code: CloudKitError.Code, expected: CloudError.Code) throws {
        let name = "commits/00000000000000000001.json"
        let store = store(
            FakeCloudKit { request in
                guard request == .modify else { return nil }
                return .refused(CloudKitError(.partialFailure, partialErrors: [name: CloudKitError(code, "m"), "other": CloudKitError(.batchRequestFailed)]))
            })
        let error = #expect(throws: CloudError.self) { try store.put([1], as: first) }
        #expect(error?.code == expected && error?.reason.contains("CloudKit: ") == true && error?.hint != nil)
    }

    @Test func listingsReadOnFromTheLastToken() throws {
        var limits = FakeCloudKit.Limits()
        limits.page = 4
        let fake = FakeCloudKit(limits: limits), store = store(fake)
        try zone(store)
        for number in 1...9 { _ = try store.put([UInt8](repeating: 7, count: number), as: "private/Notes/commits/\(CloudNames.digits(number)).json") }
        #expect(try store.list("private/Notes/commits/").map(\.byteCount) == Array(1...9))
        var before = fake.state.withLock { $0.requests.count }
        #expect(try store.list("private/Notes/").count == 10)
        #expect(fake.state.withLock { $0.requests.count } == before + 1)
        try store.remove([first])
        #expect(try store.list("private/Notes/commits/", first: 2).map(\.byteCount) == [2, 3])
        // An expired token costs one reading from the beginning.
        fake.state.withLock { $0.zones["Notes"]?.id = "another" }
        before = fake.state.withLock { $0.requests.count }
        #expect(try store.list("private/Notes/commits/").count == 8)
        // Ten changes, one of them the deletion, in batches of four.
        #expect(fake.state.withLock { Array($0.requests.dropFirst(before)) } == [.changes, .changes, .changes, .changes])
        #expect(try store.list("private/Other/commits/").isEmpty)
    }

    /// The index of the public database lags: commits that follow the listed ones are found all the same.
    @Test func commitsThatTheIndexLacksAreFound() throws {
        let all = FakeCloudKit(isPublic: true), store = store(FakeCloudKit(), public: all)
        for number in 1...5 { _ = try store.put([1], as: "public/Shared/commits/\(CloudNames.digits(number)).json") }
        for lag in [0, 2, 5] {
            all.state.withLock { $0.indexLag = lag }
            #expect(try store.list("public/Shared/commits/").count == 5)
        }
    }

    @Test func manyRecordsGoInFewRequests() throws {
        let fake = FakeCloudKit(), store = store(fake)
        try zone(store)
        let paths = (1...950).map { "private/Notes/assets/a/\(CloudNames.digits($0))-0a1b2c3d.json.gz" }
        for path in paths { _ = try store.put([1], as: path) }
        fake.state.withLock { $0.modified = [] }
        try store.remove(paths + ["private/Notes/assets/a/none"])
        #expect(fake.state.withLock { $0.modified } == [400, 400, 151])
        #expect(try store.list("private/Notes/assets/").isEmpty)
    }

    /// In a private zone a request is atomic: one record that is gone fails it for the others, too.
    @Test func whatIsGoneAlreadyDoesNotKeepTheOthers() throws {
        let refusals = Mutex(0), gone = "assets/a/none"
        let fake = FakeCloudKit { request in
            guard request == .modify, refusals.withLock({ $0 }) > 0 else { return nil }
            refusals.withLock { $0 -= 1 }
            return .refused(
                CloudKitError(.partialFailure, partialErrors: [gone: CloudKitError(.unknownItem), "assets/a/1": CloudKitError(.batchRequestFailed)]))
        }
        let store = store(fake)
        try zone(store)
        _ = try store.put([1], as: "private/Notes/assets/a/1")
        refusals.withLock { $0 = 1 }
        try store.remove(["private/Notes/assets/a/1", "private/Notes/" + gone])
        #expect(try store.list("private/Notes/assets/").isEmpty)
    }

    /// A small document lies in the record, a large one in a file beside it, and what CloudKit does not take is told.
    @Test func largeDocumentsAreAssets() throws {
        var limits = FakeCloudKit.Limits()
        limits.assetBytes = 2_000_000
        let fake = FakeCloudKit(limits: limits), store = store(fake)
        try zone(store)
        for count in [CloudKitFile.inlineLimit, CloudKitFile.inlineLimit + 1] {
            let path = "private/Notes/checkpoints/\(CloudNames.digits(count)).json", bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            guard case .placed = try store.put(bytes, as: path), case .wasThere = try store.put(bytes, as: path) else {
                Issue.record("it was placed once")
                return
            }
            #expect(try store.get(path, limit: count) == bytes)
            #expect(fake.state.withLock { $0.zones["Notes"]?.records[CloudKitPlace(path).name]?.asset != nil } == (count > CloudKitFile.inlineLimit))
        }
        let error = #expect(throws: CloudError.self) { try store.put([UInt8](repeating: 0, count: 2_000_001), as: first) }
        #expect(error?.code == .limitExceeded)
        #expect(try store.get(first, limit: .max) == nil)
    }

    /// The server's clock counts, not this device's, and is known without a request once something was saved.
    @Test func theClockIsTheServers() throws {
        let fake = FakeCloudKit(now: { Date().addingTimeInterval(7200) }), store = store(fake)
        let ahead = try store.clock(in: .standard).microseconds - Instant.now.microseconds
        #expect(abs(ahead - 7_200_000_000) < 600_000_000)
        #expect(fake.state.withLock { $0.zones[""]?.records.isEmpty } == true)
        let before = fake.state.withLock { $0.requests.count }
        _ = try store.clock(in: .standard)
        #expect(fake.state.withLock { $0.requests.count } == before)
    }
}
