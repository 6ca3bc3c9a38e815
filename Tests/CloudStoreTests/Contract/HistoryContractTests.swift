import CloudStore
import StrictText
import Testing

/// Every backend keeps a zone's history in order, whole and unchangeable.
@Suite(.serialized) struct HistoryContractTests {
    @Test(arguments: Backend.allCases)
    func aNewZoneIsEmpty(_ backend: Backend) async throws {
        let test = try backend.make()
        await expectCloudError(.zoneNotFound) { try await test.cloud.zone(.standard) }
        await expectCloudError(.zoneNotFound) { try await test.cloud.changes(since: nil, in: .standard) }
        let made = try await test.zone()
        #expect(made.creator == "writer" && made.publishers == .one && made.features.isEmpty && made.formatVersion == 1)
        let changes = try await test.cloud.changes(since: nil, in: .standard)
        #expect(changes.base.isEmpty && changes.commits.isEmpty && changes.token == nil)
        let state = try await test.cloud.records(in: .standard)
        #expect(state.records.isEmpty && state.token == nil && state.timestamp == nil)
    }

    @Test(arguments: Backend.allCases)
    func aZoneIsMadeOnce(_ backend: Backend) async throws {
        let test = try backend.make()
        let first = try await test.zone()
        let second = try await test.cloud.createZone(.standard, creator: "other", publishers: .many)
        #expect(second == first)
        _ = try await test.cloud.createZone(ZoneID("B"), creator: "writer", publishers: .one)
        _ = try await test.cloud.createZone(ZoneID("A", scope: .public), creator: "writer", publishers: .many)
        let names = try await test.cloud.zones().map(\.id.description)
        #expect(names == ["private/B", "private/ZentikSyncZone", "public/A"])
    }

    @Test(arguments: Backend.allCases)
    func theFirstCommitReachesAFreshReader(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let clock = Instant.now
        let token = try await test.save(7, after: nil, clock: clock)
        #expect(token.number == 1 && token.hash.utf8.count == 64)
        let changes = try await test.cloud.changes(since: nil, in: .standard)
        let commit = try #require(changes.commits.first)
        #expect(changes.commits.count == 1 && changes.token == token && changes.base.isEmpty)
        #expect(commit.parent == nil && commit.device == "writer" && commit.clock == clock && commit.timestamp == clock)
        #expect(commit.saved.map(\.name) == ["item"] && commit.saved[0].fields == ["count": .integer(7)])
        let state = try await test.cloud.records(in: .standard)
        #expect(state.token == token && state.timestamp == clock && state.record("item")?.type == "Item")
    }

    @Test(arguments: Backend.allCases)
    func aTokenAsksForWhatIsNewer(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 6)
        let changes = try await test.cloud.changes(since: tokens[2], in: .standard)
        #expect(changes.commits.map(\.token) == Array(tokens[3...]))
        #expect(changes.commits.map(\.parent) == tokens[2..<5].map(\.hash))
        #expect(changes.token == tokens[5] && changes.base.isEmpty)
        let none = try await test.cloud.changes(since: tokens[5], in: .standard)
        #expect(none.commits.isEmpty && none.token == tokens[5])
    }

    /// What was verified is not decoded again, but it is looked at: each time anew.
    @Test(arguments: Backend.allCases)
    func aCommitThatChangesAfterItWasVerifiedIsRefusedAtTheNextLook(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 3)
        for _ in 1...2 { #expect(try await test.cloud.changes(since: tokens[2], in: .standard).commits.isEmpty) }
        var bytes: [UInt8]?
        try test.damageCommit(3) { commit in
            bytes = commit
            commit?[40] ^= 1
        }
        await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[2], in: .standard) }
        try test.damageCommit(3) { $0 = nil }
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: tokens[2], in: .standard) }
        try test.damageCommit(3) { $0 = bytes }
        #expect(try await test.cloud.changes(since: tokens[2], in: .standard).token == tokens[2])
        // The same number and another hash is another history, whatever was verified.
        let other = ChangeToken(number: 3, hash: tokens[1].hash)
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: other, in: .standard) }
        #expect(try await test.save(4, after: tokens[2]).number == 4)
    }

    @Test(arguments: Backend.allCases)
    func aDeletedZoneStaysDeletedForATokenThatHasSeenIt(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        _ = try await test.history(of: 2)
        try await test.cloud.deleteZone(.standard, reason: .purged, by: "writer")
        let end = try #require(try await test.cloud.history(in: .standard).last?.token)
        for _ in 1...3 { await expectCloudError(.userDeletedZone) { try await test.cloud.changes(since: end, in: .standard) } }
        await expectCloudError(.userDeletedZone) { try await test.save(9, after: end) }
    }

    @Test(arguments: Backend.allCases)
    func aStaleTokenIsRefused(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let first = try await test.save(1, after: nil)
        let second = try await test.save(2, after: first)
        let error = await expectCloudError(.serverRecordChanged) { try await test.save(3, after: first) }
        #expect(error?.isRetryable == true)
        await expectCloudError(.serverRecordChanged) { try await test.save(3, after: nil) }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == second)
    }

    @Test(arguments: Backend.allCases)
    func publishingTheSameCommitAgainChangesNothing(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let record = CloudRecord(type: "Item", name: "item", fields: [:])
        let first = try await test.cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: nil, in: .standard)
        let token = try await test.cloud.publish(first)
        #expect(try await test.cloud.publish(first) == token)
        let next = try await test.save(2, after: token)
        #expect(try await test.cloud.publish(first) == token)
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == next)
    }

    @Test(arguments: Backend.allCases)
    func twoCommitsWithTheSameContentAreTwo(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let draft = CommitDraft(device: "writer", saving: [CloudRecord(type: "Item", name: "item", fields: [:])], clock: .now)
        let one = try await test.cloud.prepare(draft, after: nil, in: .standard)
        let other = try await test.cloud.prepare(draft, after: nil, in: .standard)
        #expect(one.token.hash != other.token.hash)
        _ = try await test.cloud.publish(one)
        await expectCloudError(.serverRecordChanged) { try await test.cloud.publish(other) }
    }

    @Test(arguments: Backend.allCases)
    func ofManyPublishersExactlyOneWinsEachNumber(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone(publishers: .many)
        let start = try await test.save(0, after: nil)
        let each = 5, devices = 8
        let won = try await withThrowingTaskGroup(of: [ChangeToken].self) { group in
            for device in 0..<devices {
                group.addTask {
                    var token = start
                    var won: [ChangeToken] = []
                    while won.count < each {
                        do {
                            token = try await test.save(won.count, record: "device\(device)", after: token, by: "device\(device)")
                            won.append(token)
                        } catch let error as CloudError where error.code == .serverRecordChanged {
                            token = try await test.cloud.changes(since: token, in: .standard).token ?? token
                        }
                    }
                    return won
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(won.map(\.number).sorted() == Array(2...(each * devices + 1)))
        let seen = try await test.cloud.changes(since: start, in: .standard).commits
        #expect(Set(seen.map(\.token)) == Set(won))
        let records = try await test.cloud.records(in: .standard).records
        #expect(records.count == devices + 1 && records.filter { $0.name != "item" }.allSatisfy { $0.fields["count"] == .integer(Int64(each - 1)) })
    }

    @Test(arguments: Backend.allCases)
    func everyKeptVersionCanBeSeen(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        var token = try await test.save(1, after: nil)
        token = try await test.save(2, after: token)
        let deleting = CommitDraft(device: "writer", saving: [], deleting: ["item", "neverThere"], clock: .now)
        token = try await test.publish(deleting, after: token)
        #expect(try await test.cloud.records(in: .standard, at: 1, notBefore: nil).record("item")?.fields["count"] == .integer(1))
        #expect(try await test.cloud.records(in: .standard, at: 2, notBefore: token).record("item")?.fields["count"] == .integer(2))
        #expect(try await test.cloud.records(in: .standard, at: 3, notBefore: nil).records.isEmpty)
        let commit = try await test.cloud.changes(since: nil, in: .standard).commits[2]
        #expect(commit.deleted == ["item", "neverThere"] && commit.saved.isEmpty)
        await expectCloudError(.unknownItem) { try await test.cloud.records(in: .standard, at: 4, notBefore: nil) }
    }

    @Test(arguments: Backend.allCases)
    func aChangeTagNamesTheCommitThatSavedLast(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        var token = try await test.save(1, record: "a", after: nil)
        token = try await test.save(1, record: "b", after: token)
        token = try await test.save(2, record: "a", after: token)
        let tags = try await test.cloud.records(in: .standard).records.map { "\($0.name)\($0.changeTag ?? "")" }
        #expect(tags == ["a3", "b2"])
        #expect(CloudRecord(type: "Item", name: "a", fields: [:]).changeTag == nil)
    }

    @Test(arguments: Backend.allCases)
    func timestampsRiseThoughClocksGoBack(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let now = Instant.now
        let first = try await test.save(1, after: nil, clock: now)
        let second = try await test.save(2, after: first, clock: now.advanced(byMicroseconds: -3_600_000_000))
        _ = try await test.save(3, after: second, clock: now.advanced(byMicroseconds: 1_000_000))
        let commits = try await test.cloud.changes(since: nil, in: .standard).commits
        #expect(commits.map { $0.timestamp.microseconds - now.microseconds } == [0, 1000, 1_000_000])
        #expect(commits[1].clock.microseconds - now.microseconds == -3_600_000_000)
    }

    @Test(arguments: Backend.allCases)
    func approvalsTravelInTheCommit(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let record = CloudRecord(type: "Item", name: "item", fields: [:])
        try await test.publish(CommitDraft(device: "writer", saving: [record], clock: .now, approvals: ["shrink:item"]), after: nil)
        #expect(try await test.cloud.changes(since: nil, in: .standard).commits.map(\.approvals) == [["shrink:item"]])
    }
}
