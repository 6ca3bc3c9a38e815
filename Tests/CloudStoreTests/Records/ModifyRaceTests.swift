import CloudStore
import RecordZones
import StrictText
import Testing

/// What a save does when others are quicker and answers get lost.
struct ModifyRaceTests {
    private func item(_ count: Int64) -> CloudRecord { CloudRecord(type: "Item", name: "item", fields: ["count": .integer(count)]) }

    private func zone(_ cloud: InterferingCloud, _ clock: CountingClock = CountingClock(), attempts: Int = 30) async throws -> CloudZone {
        _ = try await cloud.memory.createZone(.standard, creator: "writer", publishers: .many)
        let start = CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: "start", fields: [:])], clock: .now)
        _ = try await cloud.memory.publish(try await cloud.memory.prepare(start, after: nil, in: .standard))
        return CloudZone(.standard, of: cloud, as: "phone", retry: RetryPolicy(attempts: attempts, chance: { 1 }), clock: clock)
    }

    @Test func aLostRaceIsRunAgainWithGrowingWaits() async throws {
        let cloud = InterferingCloud([.otherPublishesFirst, .otherPublishesFirst, .otherPublishesFirst]), clock = CountingClock()
        let saved = try await zone(cloud, clock).save(item(1))
        #expect(saved.changeTag == "5")
        #expect(cloud.publishCount == 4)
        #expect(clock.waits == [.milliseconds(4), .milliseconds(8), .milliseconds(16)])
        #expect(try await cloud.history(in: .standard).map(\.device) == ["writer", "writer", "writer", "writer", "phone"])
    }

    @Test func endlessRacesEndInABusyZone() async throws {
        let cloud = InterferingCloud(Array(repeating: .otherPublishesFirst, count: 9))
        let zone = try await zone(cloud, attempts: 4)
        let error = await expectCloudError(.zoneBusy) { try await zone.save(item(1)) }
        #expect(error?.isRetryable == true && error?.retryAfter != nil)
        #expect(cloud.publishCount == 4)
        #expect(try await cloud.records(in: .standard).record("item") == nil)
    }

    @Test(arguments: [CloudError.Code.inputOutput, .serverResponseLost])
    func aLostAnswerSavesOnce(_ code: CloudError.Code) async throws {
        let cloud = InterferingCloud([.answerLost], lostAnswer: code)
        let saved = try await zone(cloud).save(item(1))
        #expect(saved.changeTag == "2")
        #expect(try await cloud.history(in: .standard).count == 2)
    }

    @Test func aRequestThatNeverArrivedIsSentAgain() async throws {
        let cloud = InterferingCloud([.failsBefore, .failsBefore, .otherPublishesFirst])
        let saved = try await zone(cloud).save(item(1))
        #expect(saved.changeTag == "3")
    }

    @Test func aCloudThatStaysBrokenIsReported() async throws {
        let cloud = InterferingCloud(Array(repeating: .failsBefore, count: 9))
        let zone = try await zone(cloud)
        await expectCloudError(.inputOutput) { try await zone.save(item(1)) }
        #expect(cloud.publishCount == 4)
        #expect(try await cloud.history(in: .standard).count == 1)
    }

    /// The race decides anew whether the tag still holds: what was fine at the first attempt is a conflict at the second.
    @Test func aRaceThatChangesTheRecordIsAConflict() async throws {
        let cloud = InterferingCloud([])
        let zone = try await zone(cloud)
        let other = CloudZone(.standard, of: cloud.memory, as: "other")
        var record = try await zone.save(item(1))
        record.fields["count"] = .integer(2)
        let theirs = try await other.save(record)
        record.fields["count"] = .integer(3)
        let error = await expectCloudError(.serverRecordChanged) { try await zone.save(record) }
        #expect(error?.conflict?.server == theirs)
        #expect(error?.conflict?.ancestor?.fields["count"] == .integer(1))
    }

    @Test func savesOfOneHandleDoNotRaceEachOther() async throws {
        let cloud = InterferingCloud([])
        let zone = try await zone(cloud)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask { try await zone.save(CloudRecord(type: "Item", name: "r\(number)", fields: [:])) }
            }
            try await group.waitForAll()
        }
        #expect(cloud.publishCount == 40)
        #expect(try await cloud.records(in: .standard).records.count == 41)
    }

    @Test func aCancelledSaveStops() async throws {
        let cloud = InterferingCloud(Array(repeating: .otherPublishesFirst, count: 9))
        let zone = try await zone(cloud)
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await zone.save(item(1))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(cloud.publishCount == 0)
    }
}
