import CloudStore
import RecordZones
import DirectoryCloud
import Foundation
import Synchronization
import TestSupport
import Testing

/// What ends the wait between two looks at a zone.
@Suite(.timeLimit(.minutes(60))) struct ZoneWaitTests {
    /// A cloud whose events a test raises.
    private final class EventfulCloud: CloudLayer {
        let source = Mutex<Source?>(nil)
        private let reason: String?

        final class Source: ZoneEventSource {
            let handler: @Sendable (ZoneHint) -> Void
            private let reason: String?
            init(_ handler: @escaping @Sendable (ZoneHint) -> Void, _ reason: String?) { (self.handler, self.reason) = (handler, reason) }
            func arm() -> String? { reason }
        }

        init(butPollBecause reason: String? = nil) { self.reason = reason }

        func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
            let made = Source(handler, reason)
            source.withLock { $0 = made }
            return made
        }

        func raise() { source.withLock { $0 }?.handler(.anything) }
    }

    @Test func anEventEndsTheWaitAlsoIfItCameBefore() async throws {
        let events = EventfulCloud(), cloud = MemoryCloudDatabase().adding(events)
        let wait = ZoneWait(for: .standard, of: cloud, every: .seconds(86_400))
        events.raise()
        #expect(await wait.next())
        let waiting = Task { await wait.next() }
        events.raise()
        #expect(await waiting.value)
    }

    @Test func cancellingEndsTheWait() async throws {
        let wait = ZoneWait(for: .standard, of: MemoryCloudDatabase().adding(EventfulCloud()), every: .seconds(86_400))
        let waiting = Task { await wait.next() }
        waiting.cancel()
        #expect(await waiting.value == false)
    }

    /// Where the events tell everything, nobody polls every two seconds; where they do not, or there are none, the interval counts.
    @Test func theIntervalIsForCloudsThatDoNotTellEverything() async throws {
        for (cloud, expected) in [
            (MemoryCloudDatabase().adding(EventfulCloud()), Duration.seconds(30)),
            (MemoryCloudDatabase().adding(EventfulCloud(butPollBecause: "NFS")), .seconds(2)),
            (MemoryCloudDatabase(), .seconds(2)),
        ] {
            let clock = CountingClock()
            #expect(await ZoneWait(for: .standard, of: cloud, every: .seconds(2), clock: clock).next())
            #expect(clock.waits.count == 1 && clock.waits.allSatisfy { $0 > expected - .milliseconds(100) && $0 <= expected })
        }
    }

    /// Somebody else's commit in a directory is heard of through inotify.
    @Test func aDirectoryWakes() async throws {
        let scratch = try TestSupport.ScratchDirectory()
        let cloud = try DirectoryCloud.create(at: scratch.path("cloud"), container: "iCloud.org.example")
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .many)
        let wait = ZoneWait(for: .standard, of: cloud, every: .seconds(86_400)), waiting = Task { await wait.next() }
        try await CloudZone(.standard, of: cloud, as: "writer").save(CloudRecord(type: "Item", name: "item", fields: [:]))
        #expect(await waiting.value)
    }
}
