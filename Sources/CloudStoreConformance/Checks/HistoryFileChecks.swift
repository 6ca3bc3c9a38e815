import CloudStore
import StrictText

extension ConformanceCheck {
    /// A commit log's documents: checkpoints, pruned commits, damage, and files of another history.
    static let history: [ConformanceCheck] = [
        ConformanceCheck("aFirstVisitStartsAtTheNewestCheckpointThatCounts", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 40)
            let changes = try await trial.changes(since: nil)
            // Commit 17 names checkpoint 16, commit 33 checkpoint 32.
            try trial.expect(changes.commits.map(\.token), is: Array(tokens[32...]), "the commits")
            try trial.expect(changes.token, is: tokens[39], "the newest token")
            try trial.expect(changes.base.map(\.name), is: ["item0", "item1", "item2", "item3", "item4"], "the checkpoint's records")
            try trial.expect(changes.base.map(\.changeTag), is: ["30", "31", "32", "28", "29"], "their change tags")
            try trial.expect(changes.base.dropFirst(2).first?.fields, is: ["count": .integer(32)], "a record's fields")
            try trial.expect(try await trial.state().records.map(\.changeTag), is: ["40", "36", "37", "38", "39"], "the newest change tags")
        },
        ConformanceCheck("prunedHistoryIsReadFromItsCheckpoint", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 40)
            for number in 1...20 { try trial.damageCommit(number) { $0 = nil } }
            try trial.expect(try await trial.state().token, is: tokens[39], "the newest token")
            func state(_ number: Int?, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
                try await trial.cloud.records(in: ConformanceContext.zone, at: number, notBefore: token)
            }
            try trial.expect(try await state(36).record("item1")?.changeTag, is: "36", "a kept version")
            try await trial.expect(.changeTokenExpired, "a token whose commit is gone") { _ = try await trial.changes(since: tokens[4]) }
            // Such a device reads the whole zone, and the zone does not end before what the device has seen.
            try trial.expect(try await state(nil, notBefore: tokens[4]).token, is: tokens[39], "the newest token")
            try await trial.expect(.unknownItem, "a version that is gone") { _ = try await state(5) }
            try await trial.publish([trial.item(41)], after: tokens[39])
        },
        ConformanceCheck("aCommitOntoAPrunedParentIsVoid", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 34)
            let late = try await trial.cloud.prepare(
                CommitDraft(device: "writer", saving: [trial.item(1, name: "late")], clock: .now), after: tokens[4], in: ConformanceContext.zone)
            for number in 1...10 { try trial.damageCommit(number) { $0 = nil } }
            try await trial.expect(.changeTokenExpired, "a commit onto a parent that is gone") { _ = try await trial.cloud.publish(late) }
            try trial.expectNoFile("commits/\(ConformanceContext.digits(6)).json", line: #line)
            try trial.expect(try await trial.changes(since: nil).token, is: tokens[33], "the newest token")
        },
        ConformanceCheck("aCommitWhoseParentIsPrunedAfterItStands", .files) { trial in
            try await trial.makeZone(.one)
            let parent = try await trial.history(of: 16)[15]
            let draft = CommitDraft(device: "writer", saving: [trial.item(17)], clock: .now)
            let commit = try await trial.cloud.prepare(draft, after: parent, in: ConformanceContext.zone)
            // A prune before the publisher looks for the parent. Whether it comes before or after the commit's file cannot be seen then.
            for number in 1...16 { try trial.damageCommit(number) { $0 = nil } }
            try trial.expect(try await trial.cloud.publish(commit), is: commit.token, "the newest commit")
            try trial.expect(try await trial.changes(since: nil).token, is: commit.token, "the newest token")
            let next = try await trial.publish([trial.item(18)], after: commit.token)
            try trial.damageCommit(17) { $0 = nil }
            try trial.expect(try await trial.cloud.publish(commit), is: commit.token, "the commit that the newest one follows")
            try trial.expect(try await trial.changes(since: nil).token, is: next, "the newest token")
        },
        ConformanceCheck("aCommitAfterALossIsRemovedAgain", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 8)
            let late = try await trial.cloud.prepare(
                CommitDraft(device: "writer", saving: [trial.item(9)], clock: .now), after: tokens[7], in: ConformanceContext.zone)
            for number in 7...8 { try trial.damageCommit(number) { $0 = nil } }
            try await trial.expect(.damaged, "a commit beyond the end of an older copy") { _ = try await trial.cloud.publish(late) }
            try trial.expect(try await trial.changes(since: nil).token, is: tokens[5], "the newest token")
        },
        ConformanceCheck("aMissingCheckpointIsDoneWithoutWhereAllCommitsAreKept", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 18)
            try trial.damageCheckpoint(16) { $0 = nil }
            let changes = try await trial.changes(since: nil)
            try trial.expect(changes.base.isEmpty, "a checkpoint that is gone was read")
            try trial.expect(changes.commits.map(\.token), is: tokens, "the commits")
            try trial.damageCommit(1) { $0 = nil }
            let error = try await trial.expect(.damaged, "neither the checkpoint nor all commits") { _ = try await trial.changes(since: nil) }
            try trial.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ConformanceCheck("anyFlippedByteOfACheckpointIsFound", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 18)
            var size = 0
            try trial.damageCheckpoint(16) { size = $0?.count ?? 0 }
            try trial.expect(size > 300, "a checkpoint of \(size) bytes")
            for offset in stride(from: 0, to: size, by: try trial.damageStride) {
                try trial.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
                try await trial.expect(.damaged, "byte \(offset)") { _ = try await trial.changes(since: nil) }
                try trial.damageCheckpoint(16) { $0?[offset] ^= 1 << (offset % 8) }
            }
            try trial.expect(try await trial.changes(since: nil).token, is: tokens[17], "the newest token")
        },
        ConformanceCheck("aCheckpointOfSomebodyElseIsNeverNamed", .files) { trial in
            try await trial.makeZone(.one)
            var tokens = try await trial.history(of: 16)
            try trial.damageCheckpoint(16) { $0 = Array("{\"junk\":true}".utf8) }
            for number in 17...18 { tokens.append(try await trial.publish([trial.item(Int64(number), name: "item\(number % 5)")], after: tokens.last)) }
            // Checkpoint 16 does not count; 17, written before commit 18, does.
            let changes = try await trial.changes(since: nil)
            try trial.expect(changes.commits.map(\.token), is: [tokens[17]], "the commits")
            try trial.expect(changes.base.count, is: 5, "the checkpoint's records")
        },
        ConformanceCheck("anyFlippedBitOfTheNewestCommitIsFound", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 2)
            var size = 0
            try trial.damageCommit(2) { size = $0?.count ?? 0 }
            try trial.expect(size > 400, "a commit of \(size) bytes")
            for bit in stride(from: 0, to: size * 8, by: try trial.damageStride) {
                try trial.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
                try await trial.expect(.damaged, "bit \(bit)") { _ = try await trial.changes(since: tokens[0]) }
                try trial.damageCommit(2) { $0?[bit / 8] ^= 1 << (bit % 8) }
            }
            try trial.expect(try await trial.changes(since: tokens[0]).token, is: tokens[1], "the newest token")
        },
        ConformanceCheck("aCommitCutAtAnyLengthIsFound", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 2)
            var whole: [UInt8] = []
            try trial.damageCommit(2) { whole = $0 ?? [] }
            for length in stride(from: 0, to: whole.count, by: try trial.damageStride) {
                try trial.damageCommit(2) { $0 = Array(whole[..<length]) }
                try await trial.expect(.damaged, "\(length) bytes") { _ = try await trial.changes(since: tokens[0]) }
            }
        },
        ConformanceCheck("aCommitThatChangesAfterItWasVerifiedIsRefusedAtTheNextLook", .files) { trial in
            // A backend may skip decoding a document that it has verified before, but it must read it each time.
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 3)
            for _ in 1...2 { try trial.expect(try await trial.changes(since: tokens[2]).commits.isEmpty, "nothing is new") }
            var bytes: [UInt8]?
            try trial.damageCommit(3) { commit in
                bytes = commit
                commit?[40] ^= 1
            }
            try await trial.expect(.damaged, "a flipped bit") { _ = try await trial.changes(since: tokens[2]) }
            try trial.damageCommit(3) { $0 = nil }
            try await trial.expect(.rolledBack, "a commit that is gone") { _ = try await trial.changes(since: tokens[2]) }
            try trial.damageCommit(3) { $0 = bytes }
            try trial.expect(try await trial.changes(since: tokens[2]).token, is: tokens[2], "the newest token")
            // The same number with another hash is another history, whatever was verified before.
            let other = ChangeToken(number: 3, hash: tokens[1].hash)
            try await trial.expect(.rolledBack, "another hash") { _ = try await trial.changes(since: other) }
            try trial.expect(try await trial.publish([trial.item(4)], after: tokens[2]).number, is: 4, "the next number")
        },
        ConformanceCheck("aZoneThatEndsBeforeTheTokenWasRolledBack", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 5)
            for number in 4...5 { try trial.damageCommit(number) { $0 = nil } }
            try await trial.expect(.rolledBack, "changes") { _ = try await trial.changes(since: tokens[4]) }
            try await trial.expect(.rolledBack, "records") {
                _ = try await trial.cloud.records(in: ConformanceContext.zone, at: nil, notBefore: tokens[4])
            }
            try await trial.expect(.rolledBack, "a commit") { try await trial.publish([trial.item(6)], after: tokens[4]) }
            for number in 1...3 { try trial.damageCommit(number) { $0 = nil } }
            try await trial.expect(.rolledBack, "changes of an empty zone") { _ = try await trial.changes(since: tokens[4]) }
        },
        ConformanceCheck("anotherCommitInTheTokensPlaceWasRolledBack", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 3)
            try trial.damageCommit(3) { $0 = nil }
            var other = try await trial.publish([trial.item(99)], after: tokens[1])
            try await trial.expect(.rolledBack, "another commit under the number") { _ = try await trial.changes(since: tokens[2]) }
            other = try await trial.publish([trial.item(100)], after: other)
            try await trial.expect(.rolledBack, "a commit after it") { _ = try await trial.changes(since: tokens[2]) }
            try trial.expect(try await trial.changes(since: tokens[1]).token, is: other, "the newest token")
        },
        ConformanceCheck("aGapIsRefusedAndNeverSkipped", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 5)
            try trial.damageCommit(3) { $0 = nil }
            let error = try await trial.expect(.damaged, "a first visit") { _ = try await trial.changes(since: nil) }
            try trial.expect(error.isRetryable && error.place.contains(ConformanceContext.digits(3)), "the error names the missing file: \(error)")
            let seen = try await trial.changes(since: tokens[1])
            try trial.expect(seen.commits.isEmpty && seen.token == tokens[1], "a reader before the gap stays there")
            try await trial.expect(.damaged, "a token in the gap") { _ = try await trial.changes(since: tokens[2]) }
        },
        ConformanceCheck("aGapAboveTheCheckpointIsNoPruning", .files) { trial in
            try await trial.makeZone(.one)
            let tokens = try await trial.history(of: 20)
            try trial.damageCommit(18) { $0 = nil }
            let error = try await trial.expect(.damaged, "a token in the gap") { _ = try await trial.changes(since: tokens[17]) }
            try trial.expect(error.isRetryable, "a file that may still arrive can be waited for")
        },
        ConformanceCheck("aCommitFromAnotherHistoryIsRefused", .files) { trial in
            let other = ZoneID("OtherZone")
            try await trial.makeZone(.one)
            _ = try await trial.cloud.createZone(other, creator: "writer", publishers: .one)
            let tokens = try await trial.history(of: 3)
            var last: ChangeToken?
            for number in 1...3 {
                let draft = CommitDraft(device: "writer", saving: [trial.item(Int64(number), name: "item\(number)")], clock: .now)
                last = try await trial.cloud.publish(try await trial.cloud.prepare(draft, after: last, in: other))
            }
            var foreign: [UInt8]?
            try trial.damageCommit(3, in: other) { foreign = $0 }
            try trial.expect(foreign != nil, "the other zone has no commit 3")
            try trial.damageCommit(3) { $0 = foreign }
            try await trial.expect(.damaged, "a commit of another zone") { _ = try await trial.changes(since: tokens[1]) }
            var older: [UInt8]?
            try trial.damageCommit(2) { older = $0 }
            try trial.damageCommit(3) { $0 = older }
            try await trial.expect(.damaged, "an older commit of the same zone under a newer number") { _ = try await trial.changes(since: tokens[1]) }
        },
        ConformanceCheck("theFirstCommitNeedsAnEmptyZone", .files) { trial in
            try await trial.makeZone(.one)
            _ = try await trial.history(of: 18)
            for number in 1...17 { try trial.damageCommit(number) { $0 = nil } }
            try await trial.expect(.serverRecordChanged, "a first commit beside a later one") { try await trial.publish([trial.item(1)], after: nil) }
            try trial.damageCommit(18) { $0 = nil }
            // Only the checkpoint is there; the commits have not arrived.
            try await trial.expect(.serverRecordChanged, "a first commit beside a checkpoint") { try await trial.publish([trial.item(1)], after: nil) }
            try await trial.expect(.damaged, "a checkpoint alone") { _ = try await trial.changes(since: nil) }
            try trial.expectNoFile("commits/\(ConformanceContext.digits(1)).json", line: #line)
        },
    ]
}

extension ConformanceContext {
    func expectNoFile(_ path: String, line: Int) throws {
        var isThere = false
        try damage(path) { isThere = $0 != nil }
        try expect(!isThere, "\(path) is there", line: line)
    }
}
