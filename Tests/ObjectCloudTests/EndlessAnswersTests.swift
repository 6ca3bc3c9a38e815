import CloudStore
import StrictText
import Synchronization
import Testing

@testable import ObjectCloud

/// A server that answers every request with status 200 and the same bytes: a login page, a web console, an error document.
@Suite struct EndlessAnswersTests {
    /// Every read of a zone, by name.
    private static let reads: [(name: String, read: @Sendable (ObjectCloud, ChangeToken) async throws -> Void)] = [
        ("changes", { _ = try await $0.changes(since: $1, in: .standard) }),
        ("first visit", { cloud, _ in _ = try await cloud.changes(since: nil, in: .standard) }),
        ("newest records", { _ = try await $0.records(in: .standard, at: nil, notBefore: $1) }),
        ("records of a version", { _ = try await $0.records(in: .standard, at: $1.number, notBefore: nil) }),
        ("history", { cloud, _ in _ = try await cloud.history(in: .standard) }),
        ("recent commits", { _ = try await $0.commits(upTo: $1, count: 100, in: .standard) }),
        ("reports", { cloud, _ in _ = try await cloud.deviceReports(in: .standard) }),
        ("mailbox", { cloud, _ in _ = try await cloud.mailbox(in: .standard) }),
        ("files", { cloud, _ in _ = try await cloud.storedFiles(in: .standard) }),
        ("zones", { cloud, _ in _ = try await cloud.zones() }),
    ]

    /// Each read ends with an error after a few requests, whether a client has read the zone before or not.
    @Test(arguments: reads.map(\.name), [true, false]) func everyReadEnds(_ name: String, isFresh: Bool) async throws {
        let isPage = Mutex(false)
        let store = FakeStore(fault: { _ in isPage.withLock { $0 } ? .refused(200, code: "LogIn") : nil })
        let cloud = try ObjectCloud.create(client: store.client(), container: "iCloud.org.example.test").cloud
        _ = try await cloud.createZone(.standard, creator: "a", publishers: .many)
        let draft = CommitDraft(device: "a", saving: [CloudRecord(type: "Note", name: "note", fields: ["text": .string("x")])], clock: .now)
        let token = try await cloud.publish(try await cloud.prepare(draft, after: nil, in: .standard))
        let reader = isFresh ? try ObjectCloud(client: store.client(), expecting: nil) : cloud
        let read = try #require(Self.reads.first { $0.name == name }).read
        isPage.withLock { $0 = true }
        let before = store.requests.count
        await #expect(throws: CloudError.self) { try await read(reader, token) }
        #expect(store.requests.count - before <= 20)
    }
}
