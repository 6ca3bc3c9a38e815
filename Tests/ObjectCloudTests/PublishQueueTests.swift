import CloudStore
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
}
