import CloudContract
import CloudStore
import RecordZones
import StrictText
import Testing

struct PollingTests {
    private func cloud() async throws -> MemoryCloudDatabase {
        let cloud = MemoryCloudDatabase()
        _ = try await cloud.createZone(.standard, creator: "writer", publishers: .many)
        return cloud
    }

    @Test func pollingFindsWhatAnotherDeviceSaves() async throws {
        let cloud = try await cloud(), clock = CountingClock()
        let reader = CloudZone(.standard, of: cloud, as: "reader", clock: clock)
        let hints = try await reader.subscribe(RecordSubscription("all"), every: .seconds(5))
        let first = Task { () async -> RecordNotification? in
            for await hint in hints { return hint }
            return nil
        }
        // The zone was empty at the subscription: its very first commit is told too.
        try await CloudZone(.standard, of: cloud, as: "writer").save(CloudRecord(type: "Item", name: "item", fields: [:]))
        let hint = await first.value
        #expect(hint?.kind == .recordCreated && hint?.recordName == "item")
        #expect(clock.waits.allSatisfy { $0 > .milliseconds(4900) })
    }

    @Test func cancellingTheTaskEndsTheHints() async throws {
        let reader = CloudZone(.standard, of: try await cloud(), as: "reader")
        let hints = try await reader.subscribe(RecordSubscription("all"), every: .seconds(3600))
        let task = Task {
            var count = 0
            for await _ in hints { count += 1 }
            return count
        }
        task.cancel()
        #expect(await task.value == 0)
    }

    /// A cloud that cannot be reached for a while loses no hint.
    @Test func hintsOutliveAnAbsence() async throws {
        let account = CloudAccount(), memory = try await cloud()
        let writer = CloudZone(.standard, of: memory, as: "writer")
        try await writer.save(CloudRecord(type: "Item", name: "first", fields: [:]))
        let reader = CloudZone(.standard, of: memory.requiring(account), as: "reader")
        let hints = try await reader.subscribe(RecordSubscription("all")) {
            guard account.status != .available else { return false }
            account.set(.available)
            return true
        }
        try await writer.save(CloudRecord(type: "Item", name: "second", fields: [:]))
        account.set(.temporarilyUnavailable)
        var found: [String?] = []
        for await hint in hints { found.append(hint.recordName) }
        #expect(found == ["second"])
    }

    @Test func impossibleSubscriptionsAreRefused() async throws {
        let reader = CloudZone(.standard, of: try await cloud(), as: "reader")
        await expectCloudError(.invalidArguments) { try await reader.subscribe(RecordSubscription("x", to: .type("../x"))) }
        let query = RecordQuery("Item", where: .beginsWith("na me", "x"))
        await expectCloudError(.invalidArguments) { try await reader.subscribe(RecordSubscription("x", to: .query(query))) }
    }
}
