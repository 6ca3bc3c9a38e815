import CloudStore
import Synchronization
import Testing

@testable import SnapshotEngine
@testable import SnapshotVersions

/// Peers that lose races take tickets, and the others let them publish first.
@Suite struct PublishTurnTests {
    /// A cloud in memory, and an account of what was put into its publish queue.
    private final class QueueCloud: CloudDatabase, @unchecked Sendable {
        var added: [PublishTicket] { record.added.withLock { $0 } }
        private let record: Record

        init(_ wrapped: CloudDatabase) {
            record = Record()
            super.init(wrapped, adding: record)
        }

        private final class Record: CloudLayer {
            let added = Mutex([PublishTicket]())

            func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
                if case .enqueue(let ticket) = call { added.withLock { $0.append(ticket) } }
            }
        }
    }

    /// A queue that cannot be used.
    private struct BrokenQueue: CloudLayer {
        func willCall(_ call: CloudCall, in zone: ZoneID?) async throws {
            switch call {
            case .publishQueue, .enqueue, .dequeue: throw CloudError(.permissionFailure, at: "waiting", "no")
            default: break
            }
        }
    }

    /// Lets `laptop` publish just before `desk` does, so many times.
    private func losing(_ count: Int, _ scene: PeerScene, _ wrapped: CloudDatabase) -> ScriptedCloud {
        let left = Mutex(count)
        let cloud = ScriptedCloud(wrapped: wrapped)
        cloud.publishing = {
            let number = left.withLock {
                $0 -= 1; return $0
            }
            guard number >= 0 else { return }
            try scene.run("laptop", "UPDATE things SET note = 'laptop \(number)' WHERE id = 'b'")
            try await scene.sync("laptop", scene.cloud.adding(BrokenQueue()))
        }
        return cloud
    }

    @Test func secondLostRaceIsWorthATicketThatGoesWithTheRun() async throws {
        let scene = try await PeerScene("desk", "laptop")
        for (losses, tickets) in [(1, 0), (2, 1), (4, 3)] {
            let queue = QueueCloud(scene.cloud)
            try scene.run("desk", "UPDATE things SET note = 'desk \(losses)' WHERE id = 'a'")
            let first = try #require(try await scene.cloud.records(in: scene.zone).token).number + 1
            _ = try await scene.sync("desk", losing(losses, scene, queue))
            let added = queue.added
            // The same one each time, of the first number that was lost.
            #expect(added.count == tickets && Set(added).count <= 1 && added.allSatisfy { $0.number == first }, "\(losses)")
            #expect(try await queue.publishQueue(in: scene.zone).isEmpty)
            try await scene.sync("laptop", scene.cloud.adding(BrokenQueue()))
        }
        #expect(try scene.notes("desk") == scene.notes("laptop"))
    }

    @Test func ticketGoesAlsoWhereTheRunFails() async throws {
        let scene = try await PeerScene("desk", "laptop"), queue = QueueCloud(scene.cloud)
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let error = await #expect(throws: SyncError.self) { try await scene.sync("desk", losing(.max, scene, queue)) }
        #expect(error?.code == .tryAgainLater)
        #expect(queue.added.count > 5)
        #expect(try await queue.publishQueue(in: scene.zone).isEmpty)
    }

    @Test func deviceWithATicketPublishesFirst() async throws {
        let scene = try await PeerScene("desk", "laptop"), queue = QueueCloud(scene.cloud)
        let ticket = PublishTicket(number: 2, nonces: .system)
        try await queue.enqueue(ticket, in: scene.zone)
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        try scene.run("laptop", "UPDATE things SET note = 'laptop' WHERE id = 'b'")
        let pauses = Mutex(0)
        let report = try await scene.engine(
            "desk", queue,
            pause: { _ in
                guard
                    pauses.withLock({
                        $0 += 1; return $0
                    }) == 3
                else { return }
                try await scene.sync("laptop", scene.cloud.adding(BrokenQueue()))
                try await queue.dequeue(ticket, in: scene.zone)
            }
        ).sync()
        #expect(report.imported?.version == 2 && report.exported?.version == 3)
        #expect(pauses.withLock { $0 } == 3)
        #expect(try scene.notes("desk") == "a=desk b=laptop")
    }

    /// The device of a ticket may have been killed: others wait for it once, then remove it.
    @Test func ticketThatNobodyUsesIsWaitedForOnce() async throws {
        let scene = try await PeerScene("desk", "laptop"), queue = QueueCloud(scene.cloud)
        try await queue.enqueue(PublishTicket(number: 2, nonces: .system), in: scene.zone)
        let waited = Mutex(Duration.zero)
        var first: Duration?
        for round in 1...2 {
            try scene.run("desk", "UPDATE things SET note = 'desk \(round)' WHERE id = 'a'")
            let report = try await scene.engine("desk", queue, pause: { pause in waited.withLock { $0 += pause } }).sync()
            #expect(report.exported?.version == 1 + round)
            let total = waited.withLock { $0 }
            // What the looks took counts, too, so that the pauses may be shorter.
            #expect(total > .zero && total <= PublishTurn.ticketPatience && total == first ?? total)
            first = total
            #expect(try await queue.publishQueue(in: scene.zone).isEmpty)
        }
    }

    @Test func ticketOfAnotherHistoryIsIgnoredAndLeft() async throws {
        let scene = try await PeerScene("desk"), queue = QueueCloud(scene.cloud)
        try await queue.enqueue(PublishTicket(number: 99, nonces: .system), in: scene.zone)
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let pauses = Mutex(0)
        #expect(try await scene.engine("desk", queue, pause: { _ in pauses.withLock { $0 += 1 } }).sync().exported?.version == 2)
        #expect(pauses.withLock { $0 } == 0)
        #expect(try await queue.publishQueue(in: scene.zone).count == 1)
    }

    @Test func queueThatCannotBeUsedChangesNothing() async throws {
        let scene = try await PeerScene("desk", "laptop")
        try scene.run("desk", "UPDATE things SET note = 'desk' WHERE id = 'a'")
        let report = try await scene.sync("desk", losing(3, scene, scene.cloud.adding(BrokenQueue())))
        #expect(report.exported?.version == 5)
        try await scene.sync("laptop", scene.cloud.adding(BrokenQueue()))
        #expect(try scene.notes("laptop") == scene.notes("desk"))
    }
}
