import CloudStore
import StrictText

extension ContractCheck {
    /// A commit log's documents: checkpoints, pruned commits, damage, and files of another history.
    static let history: [ContractCheck] = [
        ContractCheck("aFirstVisitStartsAtTheNewestCheckpointThatCounts") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 40)
            let changes = try await test.changes(since: nil)
            // Commit 17 names checkpoint 16, commit 33 checkpoint 32.
            try test.expect(changes.commits.map(\.token), is: Array(tokens[32...]), "the commits")
            try test.expect(changes.token, is: tokens[39], "the newest token")
            try test.expect(changes.base.map(\.name), is: ["item0", "item1", "item2", "item3", "item4"], "the checkpoint's records")
            try test.expect(changes.base.map(\.changeTag), is: ["30", "31", "32", "28", "29"], "their change tags")
            try test.expect(changes.base.dropFirst(2).first?.fields, is: ["count": .integer(32)], "a record's fields")
            try test.expect(try await test.state().records.map(\.changeTag), is: ["40", "36", "37", "38", "39"], "the newest change tags")
        },
        ContractCheck("prunedHistoryIsReadFromItsCheckpoint") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 40)
            for number in 1...20 { try test.damageCommit(number) { $0 = nil } }
            try test.expect(try await test.state().token, is: tokens[39], "the newest token")
            func state(_ number: Int?, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
                try await test.cloud.records(in: ContractTest.zone, at: number, notBefore: token)
            }
            try test.expect(try await state(36).record("item1")?.changeTag, is: "36", "a kept version")
            try await test.expect(.changeTokenExpired, "a token whose commit is gone") { _ = try await test.changes(since: tokens[4]) }
            // Such a device reads the whole zone, and the zone does not end before what the device has seen.
            try test.expect(try await state(nil, notBefore: tokens[4]).token, is: tokens[39], "the newest token")
            try await test.expect(.unknownItem, "a version that is gone") { _ = try await state(5) }
            try await test.publish([test.item(41)], after: tokens[39])
        },
        ContractCheck("aCommitOntoAPrunedParentIsVoid") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 34)
            let late = try await test.cloud.prepare(
                CommitDraft(device: "writer", saving: [test.item(1, name: "late")], clock: .now), after: tokens[4], in: ContractTest.zone)
            for number in 1...10 { try test.damageCommit(number) { $0 = nil } }
            try await test.expect(.changeTokenExpired, "a commit onto a parent that is gone") { _ = try await test.cloud.publish(late) }
            try test.expectNoFile("commits/\(ContractTest.digits(6)).json", line: #line)
            try test.expect(try await test.changes(since: nil).token, is: tokens[33], "the newest token")
        },
        ContractCheck("aCommitWhoseParentIsPrunedAfterItStands") { test in
            try await test.makeZone(.one)
            let parent = try await test.history(of: 16)[15]
            let draft = CommitDraft(device: "writer", saving: [test.item(17)], clock: .now)
            let commit = try await test.cloud.prepare(draft, after: parent, in: ContractTest.zone)
            // A prune before the publisher looks for the parent. Whether it comes before or after the commit's file cannot be seen then.
            for number in 1...16 { try test.damageCommit(number) { $0 = nil } }
            try test.expect(try await test.cloud.publish(commit), is: commit.token, "the newest commit")
            try test.expect(try await test.changes(since: nil).token, is: commit.token, "the newest token")
            let next = try await test.publish([test.item(18)], after: commit.token)
            try test.damageCommit(17) { $0 = nil }
            try test.expect(try await test.cloud.publish(commit), is: commit.token, "the commit that the newest one follows")
            try test.expect(try await test.changes(since: nil).token, is: next, "the newest token")
        },
        ContractCheck("aCommitAfterALossIsRemovedAgain") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 8)
            let late = try await test.cloud.prepare(
                CommitDraft(device: "writer", saving: [test.item(9)], clock: .now), after: tokens[7], in: ContractTest.zone)
            for number in 7...8 { try test.damageCommit(number) { $0 = nil } }
            try await test.expect(.damaged, "a commit beyond the end of an older copy") { _ = try await test.cloud.publish(late) }
            try test.expect(try await test.changes(since: nil).token, is: tokens[5], "the newest token")
        },
        ContractCheck("aMissingCheckpointIsDoneWithoutWhereAllCommitsAreKept") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 18)
            try test.damageCheckpoint(16) { $0 = nil }
            let changes = try await test.changes(since: nil)
            try test.expect(changes.base.isEmpty, "a checkpoint that is gone was read")
            try test.expect(changes.commits.map(\.token), is: tokens, "the commits")
            try test.damageCommit(1) { $0 = nil }
            let error = try await test.expect(.damaged, "neither the checkpoint nor all commits") { _ = try await test.changes(since: nil) }
            try test.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ContractCheck("anyFlippedByteOfACheckpointIsFound") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 18)
            var size = 0
            try test.damageCheckpoint(16) { size = $0?.count ?? 0 }
            try test.expect(size > 300, "a checkpoint of \(size) bytes")
            for offset in stride(from: 0, to: size, by: test.damageStride) {
                try test.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
                try await test.expect(.damaged, "byte \(offset)") { _ = try await test.changes(since: nil) }
                try test.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
            }
            try test.expect(try await test.changes(since: nil).token, is: tokens[17], "the newest token")
        },
        ContractCheck("aCheckpointOfSomebodyElseIsNeverNamed") { test in
            try await test.makeZone(.one)
            var tokens = try await test.history(of: 16)
            try test.damageCheckpoint(16) { $0 = Array("{\"junk\":true}".utf8) }
            for number in 17...18 { tokens.append(try await test.publish([test.item(Int64(number), name: "item\(number % 5)")], after: tokens.last)) }
            // Checkpoint 16 does not count; 17, written before commit 18, does.
            let changes = try await test.changes(since: nil)
            try test.expect(changes.commits.map(\.token), is: [tokens[17]], "the commits")
            try test.expect(changes.base.count, is: 5, "the checkpoint's records")
        },
        ContractCheck("anyFlippedBitOfTheNewestCommitIsFound") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 2)
            var size = 0
            try test.damageCommit(2) { size = $0?.count ?? 0 }
            try test.expect(size > 400, "a commit of \(size) bytes")
            for bit in stride(from: 0, to: size * 8, by: test.damageStride) {
                try test.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
                try await test.expect(.damaged, "bit \(bit)") { _ = try await test.changes(since: tokens[0]) }
                try test.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
            }
            try test.expect(try await test.changes(since: tokens[0]).token, is: tokens[1], "the newest token")
        },
        ContractCheck("aCommitCutAtAnyLengthIsFound") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 2)
            var whole: [UInt8] = []
            try test.damageCommit(2) { whole = $0 ?? [] }
            for length in stride(from: 0, to: whole.count, by: test.damageStride) {
                try test.damageCommit(2) { $0 = Array(whole[..<length]) }
                try await test.expect(.damaged, "\(length) bytes") { _ = try await test.changes(since: tokens[0]) }
            }
        },
        ContractCheck("aCommitThatChangesAfterItWasVerifiedIsRefusedAtTheNextLook") { test in
            // A backend may skip decoding a document that it has verified before, but it must read it each time.
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 3)
            for _ in 1...2 { try test.expect(try await test.changes(since: tokens[2]).commits.isEmpty, "nothing is new") }
            var bytes: [UInt8]?
            try test.damageCommit(3) { commit in
                bytes = commit
                commit?[40] ^= 1
            }
            try await test.expect(.damaged, "a flipped bit") { _ = try await test.changes(since: tokens[2]) }
            try test.damageCommit(3) { $0 = nil }
            try await test.expect(.rolledBack, "a commit that is gone") { _ = try await test.changes(since: tokens[2]) }
            try test.damageCommit(3) { $0 = bytes }
            try test.expect(try await test.changes(since: tokens[2]).token, is: tokens[2], "the newest token")
            // The same number with another hash is another history, whatever was verified before.
            let other = ChangeToken(number: 3, hash: tokens[1].hash)
            try await test.expect(.rolledBack, "another hash") { _ = try await test.changes(since: other) }
            try test.expect(try await test.publish([test.item(4)], after: tokens[2]).number, is: 4, "the next number")
        },
        ContractCheck("aZoneThatEndsBeforeTheTokenWasRolledBack") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 5)
            for number in 4...5 { try test.damageCommit(number) { $0 = nil } }
            try await test.expect(.rolledBack, "changes") { _ = try await test.changes(since: tokens[4]) }
            try await test.expect(.rolledBack, "records") {
                _ = try await test.cloud.records(in: ContractTest.zone, at: nil, notBefore: tokens[4])
            }
            try await test.expect(.rolledBack, "a commit") { try await test.publish([test.item(6)], after: tokens[4]) }
            for number in 1...3 { try test.damageCommit(number) { $0 = nil } }
            try await test.expect(.rolledBack, "changes of an empty zone") { _ = try await test.changes(since: tokens[4]) }
        },
        ContractCheck("anotherCommitInTheTokensPlaceWasRolledBack") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 3)
            try test.damageCommit(3) { $0 = nil }
            var other = try await test.publish([test.item(99)], after: tokens[1])
            try await test.expect(.rolledBack, "another commit under the number") { _ = try await test.changes(since: tokens[2]) }
            other = try await test.publish([test.item(100)], after: other)
            try await test.expect(.rolledBack, "a commit after it") { _ = try await test.changes(since: tokens[2]) }
            try test.expect(try await test.changes(since: tokens[1]).token, is: other, "the newest token")
        },
        ContractCheck("aGapIsRefusedAndNeverSkipped") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 5)
            try test.damageCommit(3) { $0 = nil }
            let error = try await test.expect(.damaged, "a first visit") { _ = try await test.changes(since: nil) }
            try test.expect(error.isRetryable && error.place.contains(ContractTest.digits(3)), "the error names the missing file: \(error)")
            let seen = try await test.changes(since: tokens[1])
            try test.expect(seen.commits.isEmpty && seen.token == tokens[1], "a reader before the gap stays there")
            try await test.expect(.damaged, "a token in the gap") { _ = try await test.changes(since: tokens[2]) }
        },
        ContractCheck("aGapAboveTheCheckpointIsNoPruning") { test in
            try await test.makeZone(.one)
            let tokens = try await test.history(of: 20)
            try test.damageCommit(18) { $0 = nil }
            let error = try await test.expect(.damaged, "a token in the gap") { _ = try await test.changes(since: tokens[17]) }
            try test.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ContractCheck("aCommitFromAnotherHistoryIsRefused") { test in
            let other = ZoneID("OtherZone")
            try await test.makeZone(.one)
            _ = try await test.cloud.createZone(other, creator: "writer", publishers: .one)
            let tokens = try await test.history(of: 3)
            var last: ChangeToken?
            for number in 1...3 {
                let draft = CommitDraft(device: "writer", saving: [test.item(Int64(number), name: "item\(number)")], clock: .now)
                last = try await test.cloud.publish(try await test.cloud.prepare(draft, after: last, in: other))
            }
            var foreign: [UInt8]?
            try test.damageCommit(3, in: other) { foreign = $0 }
            try test.expect(foreign != nil, "the other zone has no commit 3")
            try test.damageCommit(3) { $0 = foreign }
            try await test.expect(.damaged, "a commit of another zone") { _ = try await test.changes(since: tokens[1]) }
            var older: [UInt8]?
            try test.damageCommit(2) { older = $0 }
            try test.damageCommit(3) { $0 = older }
            try await test.expect(.damaged, "an older commit of the same zone under a newer number") { _ = try await test.changes(since: tokens[1]) }
        },
        ContractCheck("theFirstCommitNeedsAnEmptyZone") { test in
            try await test.makeZone(.one)
            _ = try await test.history(of: 18)
            for number in 1...17 { try test.damageCommit(number) { $0 = nil } }
            try await test.expect(.serverRecordChanged, "a first commit beside a later one") { try await test.publish([test.item(1)], after: nil) }
            try test.damageCommit(18) { $0 = nil }
            // Only the checkpoint is there; the commits have not arrived.
            try await test.expect(.serverRecordChanged, "a first commit beside a checkpoint") { try await test.publish([test.item(1)], after: nil) }
            try await test.expect(.damaged, "a checkpoint alone") { _ = try await test.changes(since: nil) }
            try test.expectNoFile("commits/\(ContractTest.digits(1)).json", line: #line)
        },
    ]
}

extension ContractTest {
    func expectNoFile(_ path: String, line: Int) throws {
        var isThere = false
        try damage(path) { isThere = $0 != nil }
        try expect(!isThere, "\(path) is there", line: line)
    }
}
