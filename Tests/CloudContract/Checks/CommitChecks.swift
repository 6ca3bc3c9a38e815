import CloudStore
import StrictText

extension ContractCheck {
    /// Commits: one winner for each number, all or nothing, durable when publish returns.
    static let commits: [ContractCheck] = [
        ContractCheck("aPublishedCommitIsThere") { test in
            try await test.makeZone()
            let token = try await test.publish([test.item(7)], after: nil)
            try test.expect(token.number, is: 1, "the first commit's number")
            let state = try await test.cloud.records(in: ContractTest.zone)
            try test.expect(state.token, is: token, "the zone's token")
            try test.expect(state.record("item")?.fields, is: ["count": .integer(7)], "the record's fields")
        },
        ContractCheck("preparingPublishesNothing") { test in
            try await test.makeZone()
            let draft = CommitDraft(device: "writer", saving: [test.item(1)], clock: .now)
            _ = try await test.cloud.prepare(draft, after: nil, in: ContractTest.zone)
            try test.expect(try await test.cloud.records(in: ContractTest.zone).token == nil, "a commit that was only prepared is there")
        },
        ContractCheck("aCommitIsAllOrNothing") { test in
            try await test.makeZone()
            let first = try await test.publish((0..<9).map { test.item(0, name: "r\($0)") }, after: nil)
            try await test.publish((0..<8).map { test.item(1, name: "r\($0)") }, deleting: ["r8"], after: first)
            let state = try await test.cloud.records(in: ContractTest.zone)
            try test.expect(state.records.map(\.name), is: (0..<8).map { "r\($0)" }, "the records")
            try test.expect(state.records.allSatisfy { $0.fields == ["count": .integer(1)] }, "a record of the commit is missing")
            let saved = try await test.cloud.changes(since: first, in: ContractTest.zone).commits.last?.saved
            try test.expect(saved?.count, is: 8, "the commit's records")
        },
        ContractCheck("aLostRaceIsTold") { test in
            try await test.makeZone()
            let first = try await test.publish([test.item(1)], after: nil)
            let late = try await test.cloud.prepare(
                CommitDraft(device: "other", saving: [test.item(99)], clock: .now), after: first, in: ContractTest.zone)
            let winner = try await test.publish([test.item(2)], after: first)
            try await test.expect(.serverRecordChanged, "the number is taken") { _ = try await test.cloud.publish(late) }
            let state = try await test.cloud.records(in: ContractTest.zone)
            try test.expect(state.token, is: winner, "the zone's token after a lost race")
            try test.expect(state.record("item")?.fields["count"], is: .integer(2), "the winner's record")
        },
        ContractCheck("publishingTheSameBytesTwiceIsOneCommit") { test in
            try await test.makeZone()
            let commit = try await test.cloud.prepare(
                CommitDraft(device: "writer", saving: [test.item(1)], clock: .now), after: nil, in: ContractTest.zone)
            let once = try await test.cloud.publish(commit), twice = try await test.cloud.publish(commit)
            try test.expect(twice, is: once, "the token of the second time")
            try test.expect(once, is: commit.token, "the token that was prepared")
            try test.expect(try await test.cloud.history(in: ContractTest.zone).count, is: 1, "the number of commits")
            let next = try await test.publish([test.item(2)], after: once)
            try test.expect(try await test.cloud.publish(commit), is: once, "the token of the third time, with a commit after it")
            try test.expect(try await test.changes(since: nil).token, is: next, "the newest token")
        },
        ContractCheck("equalContentGivesDifferentCommits") { test in
            try await test.makeZone()
            let draft = CommitDraft(device: "writer", saving: [test.item(1)], clock: .now)
            let one = try await test.cloud.prepare(draft, after: nil, in: ContractTest.zone)
            let two = try await test.cloud.prepare(draft, after: nil, in: ContractTest.zone)
            try test.expect(one.token != two.token, "two attempts with equal content cannot be told apart")
            try test.expect(one.token.hash != two.token.hash, "two attempts with equal content have one hash")
            _ = try await test.cloud.publish(one)
            try await test.expect(.serverRecordChanged, "the other attempt") { _ = try await test.cloud.publish(two) }
        },
        ContractCheck("numbersOfDecidedEditsNeverFall") { test in
            try await test.makeZone()
            func publish(_ answered: [ExactText: Int64], saving: [CloudRecord] = [], after token: ChangeToken?) async throws -> ChangeToken {
                var draft = CommitDraft(device: "writer", saving: saving, clock: .now)
                draft.answered = answered
                return try await test.cloud.publish(test.cloud.prepare(draft, after: token, in: ContractTest.zone))
            }
            var token = try await publish([:], saving: [test.item(1)], after: nil)
            token = try await publish(["phone": 7, "watch": 1_790_000_000_000_000], after: token)
            token = try await publish(["phone": 9], after: token)
            token = try await publish([:], saving: [test.item(2)], after: token)
            let commits = try await test.changes(since: nil).commits
            let expected: [[ExactText: Int64]] =
                [[:], ["phone": 7, "watch": 1_790_000_000_000_000]] + Array(repeating: ["phone": 9, "watch": 1_790_000_000_000_000], count: 2)
            try test.expect(commits.map(\.answered), is: expected, "the numbers of decided edits")
            struct Unchanged: CloudLayer {}
            let layered = try await test.cloud.adding(Unchanged()).changes(since: nil, in: ContractTest.zone).commits
            try test.expect(layered, is: commits, "the commits that have passed a layer")
            for numbers: [ExactText: Int64] in [["phone": 8], ["phone": 0], ["../phone": 9]] {
                let parent = token
                try await test.expect(.invalidArguments, "a number that falls, or is none") {
                    _ = try await publish(numbers, saving: [test.item(3)], after: parent)
                }
            }
        },
        ContractCheck("underOnePublisherOthersAreRefused") { test in
            try await test.makeZone(.one)
            try await test.expect(.notAuthorized, "another device") { try await test.publish([test.item(1)], after: nil, by: "other") }
            let token = try await test.publish([test.item(1)], after: nil)
            try await test.expect(.notAuthorized, "another device") { try await test.publish([test.item(2)], after: token, by: "other") }
            try test.expect(try await test.changes(since: token).commits.isEmpty, "a refused commit was published")
        },
        ContractCheck("theFirstCommitIsTheCreators") { test in
            try await test.makeZone(.many)
            try await test.expect(.notAuthorized, "the first commit") { try await test.publish([test.item(1)], after: nil, by: "other") }
            let token = try await test.publish([test.item(1)], after: nil)
            try await test.publish([test.item(2)], after: token, by: "other")
        },
        ContractCheck("whatNobodyCouldReadBackIsRefused") { test in
            try await test.makeZone()
            var deep = CloudValue.list([])
            for _ in 0..<6 { deep = .list([deep]) }
            for value in [CloudValue.double(.nan), .double(.infinity), .list([.double(-.infinity)]), deep, .date(Instant(microseconds: .max))] {
                let record = CloudRecord(type: "Item", name: "item", fields: ["value": value])
                try await test.expect(.invalidArguments, "an impossible value") { try await test.publish([record], after: nil) }
            }
            try await test.expect(.invalidArguments, "a record twice") { try await test.publish([test.item(1), test.item(2)], after: nil) }
            try await test.expect(.invalidArguments, "a record saved and deleted") {
                try await test.publish([test.item(1)], deleting: ["item"], after: nil)
            }
            try await test.expect(.invalidArguments, "a record deleted twice") { try await test.publish([], deleting: ["a", "a"], after: nil) }
            try await test.expect(.invalidArguments, "nothing at all") { try await test.publish([], after: nil) }
            try test.expect(try await test.changes(since: nil).token == nil, "a refused commit was published")
        },
        ContractCheck("anUnsetClockDoesNotPublish") { test in
            try await test.makeZone(.one)
            // The check may be delayed between reading the clock and the store reading its own.
            let day: Int64 = 86_400_000_000, margin: Int64 = 3_600_000_000
            for clock in [
                Instant(microseconds: 0), try Instant(parsing: "1999-12-31T23:59:59.999999Z"), try Instant(parsing: "2100-01-01T00:00:00.000001Z"),
                Instant(microseconds: .min), Instant.now.advanced(byMicroseconds: day + margin), Instant.now.advanced(byMicroseconds: -day - margin),
            ] {
                try await test.expect(.clockUnusable, "a clock at \(clock.microseconds)") {
                    try await test.publish([test.item(1)], after: nil, clock: clock)
                }
            }
            try test.expect(try await test.changes(since: nil).token == nil, "a refused commit was published")
            try await test.publish([test.item(1)], after: nil, clock: Instant.now.advanced(byMicroseconds: day - margin))
        },
        ContractCheck("aStaleTokenIsRefused") { test in
            try await test.makeZone(.one)
            let first = try await test.publish([test.item(1)], after: nil)
            let second = try await test.publish([test.item(2)], after: first)
            let error = try await test.expect(.serverRecordChanged, "a commit after the last but one") {
                try await test.publish([test.item(3)], after: first)
            }
            try test.expect(error.isRetryable, "a lost race can be tried again")
            try await test.expect(.serverRecordChanged, "a second first commit") { try await test.publish([test.item(3)], after: nil) }
            try test.expect(try await test.changes(since: nil).token, is: second, "the newest token")
        },
        ContractCheck("ofManyPublishersOneWinsEachNumber") { test in
            try await test.makeZone()
            let start = try await test.publish([test.item(0)], after: nil)
            let each = 5, devices = 8
            let won = try await withThrowingTaskGroup(of: [ChangeToken].self) { group in
                for device in 0..<devices {
                    group.addTask {
                        var token = start
                        var won: [ChangeToken] = []
                        // Limit the attempts, because on a broken cloud nobody ever wins.
                        for _ in 0..<5000 where won.count < each {
                            do {
                                token = try await test.publish(
                                    [test.item(Int64(won.count), name: "device\(device)")], after: token, by: "device\(device)")
                                won.append(token)
                            } catch let error as CloudError where error.code == .serverRecordChanged {
                                token = try await test.changes(since: token).token ?? token
                            }
                        }
                        return won
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try test.expect(won.map(\.number).sorted(), is: Array(2...(each * devices + 1)), "the numbers that were won")
            try test.expect(Set(try await test.changes(since: start).commits.map(\.token)), is: Set(won), "the commits that are there")
            let records = try await test.state().records
            try test.expect(records.count, is: devices + 1, "the number of records")
            try test.expect(
                records.filter { $0.name != "item" }.allSatisfy { $0.fields["count"] == .integer(Int64(each - 1)) }, "each device's last record")
        },
        ContractCheck("timestampsRiseThoughClocksGoBack") { test in
            try await test.makeZone(.one)
            let now = Instant.now
            let first = try await test.publish([test.item(1)], after: nil, clock: now)
            let second = try await test.publish([test.item(2)], after: first, clock: now.advanced(byMicroseconds: -3_600_000_000))
            try await test.publish([test.item(3)], after: second, clock: now.advanced(byMicroseconds: 1_000_000))
            let commits = try await test.changes(since: nil).commits
            try test.expect(commits.map { $0.timestamp.microseconds - now.microseconds }, is: [0, 1000, 1_000_000], "the timestamps")
            try test.expect(
                commits.map { $0.clock.microseconds - now.microseconds }, is: [0, -3_600_000_000, 1_000_000], "the publisher's own clock")
        },
        ContractCheck("approvalsTravelInTheCommit") { test in
            try await test.makeZone(.one)
            try await test.publish(CommitDraft(device: "writer", saving: [test.item(1)], clock: .now, approvals: ["shrink:item"]), after: nil)
            try test.expect(try await test.changes(since: nil).commits.map(\.approvals), is: [["shrink:item"]], "the approvals")
        },
    ]
}
