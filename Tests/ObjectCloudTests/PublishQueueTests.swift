import CloudStore
import CommitLog
import Foundation
import StrictText
import Synchronization
import Testing

@testable import ObjectCloud

/// The publish queue of a bucket.
@Suite struct PublishQueueTests {
    private static func start() async throws -> (FakeStore, ObjectCloud) {
        let store = FakeStore()
        let cloud = try ObjectCloud.create(client: store.client(), container: "iCloud.org.example.test").cloud
        _ = try await cloud.createZone(.standard, creator: "a", publishers: .many)
        return (store, cloud)
    }

    /// Makes what a store has young for the rest of a test, however slow the machine is.
    private static func keepYoung(_ store: FakeStore) {
        store.state.withLock { for key in $0.objects.keys { $0.written[key] = .now.advanced(byMicroseconds: 86_400_000_000) } }
    }

    @Test func ticketsComeInTheOrderOfTheirNumbers() async throws {
        let (store, cloud) = try await Self.start()
        let tickets = [7, 3, 12].map { PublishTicket(number: $0, nonces: .system) }
        for ticket in tickets + tickets { try await cloud.enqueue(ticket, in: .standard) }
        Self.keepYoung(store)
        #expect(try await cloud.publishQueue(in: .standard) == tickets.sorted())
        #expect(store.state.withLock { $0.objects.keys.filter { $0.contains("/waiting/") } }.count == 3)
        #expect(try await cloud.storedFiles(in: .standard).map(\.kind) == [.temporary, .temporary, .temporary])
        for ticket in tickets + tickets { try await cloud.dequeue(ticket, in: .standard) }
        #expect(try await cloud.publishQueue(in: .standard).isEmpty)
    }

    /// A killed device leaves its ticket, and one without the right to delete leaves each.
    @Test func anOldTicketDoesNotCountAndGoes() async throws {
        let (store, cloud) = try await Self.start()
        let old = PublishTicket(number: 3, nonces: .system), young = PublishTicket(number: 7, nonces: .system)
        for ticket in [old, young] { try await cloud.enqueue(ticket, in: .standard) }
        Self.keepYoung(store)
        let key = "app/\(ZoneID.standard)/waiting/\(old.fileName)"
        store.state.withLock { $0.written[key] = .now.advanced(byMicroseconds: -61_000_000) }
        #expect(try await cloud.publishQueue(in: .standard) == [young])
        #expect(store.state.withLock { $0.objects[key] == nil })
    }

    private static func draft(_ device: String, _ text: String, _ asset: CloudAsset? = nil) -> CommitDraft {
        let fields: [String: CloudValue] = asset.map { ["dataFile": .asset($0)] } ?? ["text": .string(text)]
        return CommitDraft(device: device, saving: [CloudRecord(type: "Note", name: "note", fields: fields)], clock: .now)
    }

    private static func asset(_ cloud: ObjectCloud, number: Int, before finish: () async throws -> Void = {}) async throws -> CloudAsset {
        let writer = try await cloud.newAsset(for: "note", number: number, kind: .snapshot, in: .standard)
        try Array("asset".utf8).withUnsafeBytes { try writer.write($0) }
        try await finish()
        return try writer.finish(rawByteCount: 5)
    }

    /// A device that has lost a race looks, while it puts its asset in place, whether the next one is lost, too. Then it puts no commit, and has read what won.
    @Test func aRaceThatIsLostAlreadyIsNotRun() async throws {
        let (store, winner) = try await Self.start()
        let loser = try ObjectCloud(client: store.client(), expecting: try await winner.identity().uuid)
        func published(_ number: Int) -> String { "/commits/\(String(repeating: "0", count: 19))\(number).json" }
        let first = try await winner.publish(winner.prepare(Self.draft("a", "1"), after: nil, in: .standard))

        // A quiet zone: no look, and the race is run.
        let quiet = store.requests.count
        let late = try await Self.asset(loser, number: 2)
        #expect(!store.requests.dropFirst(quiet).contains { $0.url.contains(published(2)) || $0.url.contains("waiting") })
        let second = try await winner.publish(winner.prepare(Self.draft("a", "2"), after: first, in: .standard))
        let prepared = try await loser.prepare(Self.draft("b", "2", late), after: first, in: .standard)
        let lost = await #expect(throws: CloudError.self) { _ = try await loser.publish(prepared) }
        #expect(lost?.code == .serverRecordChanged)

        var token = try #require(try await loser.base.changes(since: first, toPublishIn: .standard).token)
        #expect(token == second)
        let taken = try await Self.asset(loser, number: 3) {
            _ = try await winner.publish(winner.prepare(Self.draft("a", "3"), after: second, in: .standard))
        }
        let before = store.requests.count
        let third = try await loser.prepare(Self.draft("b", "3", taken), after: token, in: .standard)
        let again = await #expect(throws: CloudError.self) { _ = try await loser.publish(third) }
        #expect(again?.code == .serverRecordChanged)
        #expect(!store.requests.dropFirst(before).contains { $0.method == "PUT" })
        // What has won is known without a request, and nothing else is taken for known.
        token = try #require(try await loser.base.changes(since: token, toPublishIn: .standard).token)
        #expect(token.number == 3 && !store.requests.dropFirst(before).contains { $0.url.contains(published(3)) })

        let free = try await Self.asset(loser, number: 4)
        #expect(try await loser.publish(loser.prepare(Self.draft("b", "4", free), after: token, in: .standard)).number == 4)
        #expect(try await winner.changes(since: first, in: .standard).commits.map(\.device) == ["a", "a", "b"])
    }
}
