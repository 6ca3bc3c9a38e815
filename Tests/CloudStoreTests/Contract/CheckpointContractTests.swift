import CloudStore
import StrictText
import Testing

/// Every backend writes checkpoints, starts from them, and refuses a history that does not hold together.
@Suite(.serialized) struct CheckpointContractTests {
    @Test(arguments: Backend.allCases)
    func aFirstVisitStartsAtTheNewestCheckpointThatCounts(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 40)
        let changes = try await test.cloud.changes(since: nil, in: .standard)
        // Commit 17 names checkpoint 16, commit 33 checkpoint 32.
        #expect(changes.commits.map(\.token) == Array(tokens[32...]) && changes.token == tokens[39])
        #expect(changes.base.map(\.name) == ["item0", "item1", "item2", "item3", "item4"])
        #expect(changes.base.map(\.changeTag) == ["30", "31", "32", "28", "29"])
        #expect(changes.base[2].fields == ["count": .integer(32)])
        let state = try await test.cloud.records(in: .standard)
        #expect(state.records.map(\.changeTag) == ["40", "36", "37", "38", "39"])
    }

    @Test(arguments: Backend.allCases)
    func prunedHistoryIsReadFromItsCheckpoint(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 40)
        for number in 1...20 { try test.damageCommit(number) { $0 = nil } }
        #expect(try await test.cloud.records(in: .standard).token == tokens[39])
        #expect(try await test.cloud.records(in: .standard, at: 36, notBefore: nil).record("item1")?.changeTag == "36")
        await expectCloudError(.changeTokenExpired) { try await test.cloud.changes(since: tokens[4], in: .standard) }
        // Such a device reads the zone whole; the zone is still not behind what it has seen.
        #expect(try await test.cloud.records(in: .standard, at: nil, notBefore: tokens[4]).token == tokens[39])
        await expectCloudError(.unknownItem) { try await test.cloud.records(in: .standard, at: 5, notBefore: nil) }
        try await test.save(41, after: tokens[39])
    }

    @Test(arguments: Backend.allCases)
    func aCommitOntoAPrunedParentIsVoid(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 34)
        let record = CloudRecord(type: "Item", name: "late", fields: [:])
        let late = try await test.cloud.prepare(CommitDraft(device: "writer", saving: [record], clock: .now), after: tokens[4], in: .standard)
        for number in 1...10 { try test.damageCommit(number) { $0 = nil } }
        await expectCloudError(.changeTokenExpired) { try await test.cloud.publish(late) }
        try test.damageCommit(6) { #expect($0 == nil) }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == tokens[33])
    }

    @Test(arguments: Backend.allCases)
    func aMissingCheckpointIsDoneWithoutWhereAllCommitsAreKept(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 18)
        try test.damageCheckpoint(16) { $0 = nil }
        let changes = try await test.cloud.changes(since: nil, in: .standard)
        #expect(changes.base.isEmpty && changes.commits.map(\.token) == tokens)
        try test.damageCommit(1) { $0 = nil }
        let error = await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
        #expect(error?.isRetryable == true)
    }

    @Test(arguments: Backend.thorough)
    func anyFlippedByteOfACheckpointIsFound(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 18)
        var size = 0
        try test.damageCheckpoint(16) { size = $0?.count ?? 0 }
        #expect(size > 300)
        for offset in stride(from: 0, to: size, by: backend.stride) {
            try test.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
            await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
            try test.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
        }
        #expect(try await test.cloud.changes(since: nil, in: .standard).token == tokens[17])
    }

    @Test(arguments: Backend.allCases)
    func aCheckpointOfSomebodyElseIsNeverNamed(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        var tokens = try await test.history(of: 16)
        try test.damageCheckpoint(16) { $0 = Array("{\"junk\":true}".utf8) }
        for number in 17...18 { tokens.append(try await test.save(number, record: "item\(number % 5)", after: tokens.last)) }
        // Checkpoint 16 does not count; 17, written before commit 18, does.
        let changes = try await test.cloud.changes(since: nil, in: .standard)
        #expect(changes.commits.map(\.token) == [tokens[17]] && changes.base.count == 5)
    }

    @Test(arguments: Backend.thorough)
    func anyFlippedBitOfTheNewestCommitIsFound(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 2)
        var size = 0
        try test.damageCommit(2) { size = $0?.count ?? 0 }
        #expect(size > 400)
        for bit in stride(from: 0, to: size * 8, by: backend.stride) {
            try test.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
            await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[0], in: .standard) }
            try test.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
        }
        #expect(try await test.cloud.changes(since: tokens[0], in: .standard).token == tokens[1])
    }

    @Test(arguments: Backend.thorough)
    func aCommitCutAtAnyLengthIsFound(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 2)
        var whole: [UInt8] = []
        try test.damageCommit(2) { whole = $0 ?? [] }
        for length in stride(from: 0, to: whole.count, by: backend.stride) {
            try test.damageCommit(2) { $0 = Array(whole[..<length]) }
            await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[0], in: .standard) }
        }
    }

    @Test(arguments: Backend.allCases)
    func aZoneThatEndsBeforeTheTokenWasRolledBack(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 5)
        for number in 4...5 { try test.damageCommit(number) { $0 = nil } }
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: tokens[4], in: .standard) }
        await expectCloudError(.rolledBack) { try await test.cloud.records(in: .standard, at: nil, notBefore: tokens[4]) }
        await expectCloudError(.rolledBack) { try await test.save(6, after: tokens[4]) }
        for number in 1...3 { try test.damageCommit(number) { $0 = nil } }
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: tokens[4], in: .standard) }
    }

    @Test(arguments: Backend.allCases)
    func anotherCommitInTheTokensPlaceWasRolledBack(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 3)
        try test.damageCommit(3) { $0 = nil }
        var other = try await test.save(99, after: tokens[1])
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: tokens[2], in: .standard) }
        other = try await test.save(100, after: other)
        await expectCloudError(.rolledBack) { try await test.cloud.changes(since: tokens[2], in: .standard) }
        #expect(try await test.cloud.changes(since: tokens[1], in: .standard).token == other)
    }

    @Test(arguments: Backend.allCases)
    func aGapIsRefusedAndNeverSkipped(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 5)
        try test.damageCommit(3) { $0 = nil }
        let error = await expectCloudError(.damaged) { try await test.cloud.changes(since: nil, in: .standard) }
        #expect(error?.isRetryable == true && error?.place.contains(twentyDigits(3)) == true)
        let seen = try await test.cloud.changes(since: tokens[1], in: .standard)
        #expect(seen.commits.isEmpty && seen.token == tokens[1])
        await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[2], in: .standard) }
    }

    @Test(arguments: Backend.allCases)
    func aGapAboveTheCheckpointIsNoPruning(_ backend: Backend) async throws {
        let test = try backend.make()
        try await test.zone()
        let tokens = try await test.history(of: 20)
        try test.damageCommit(18) { $0 = nil }
        let error = await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[17], in: .standard) }
        #expect(error?.isRetryable == true)
    }

    @Test(arguments: Backend.allCases)
    func aCommitFromAnotherHistoryIsRefused(_ backend: Backend) async throws {
        let test = try backend.make(), other = try backend.make()
        try await test.zone()
        try await other.zone()
        let tokens = try await test.history(of: 3)
        _ = try await other.history(of: 3)
        var foreign: [UInt8]?
        try other.damageCommit(3) { foreign = $0 }
        try test.damageCommit(3) { $0 = foreign }
        await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[1], in: .standard) }
        // An older commit of the same zone under a newer number.
        var older: [UInt8]?
        try test.damageCommit(2) { older = $0 }
        try test.damageCommit(3) { $0 = older }
        await expectCloudError(.damaged) { try await test.cloud.changes(since: tokens[1], in: .standard) }
    }
}
