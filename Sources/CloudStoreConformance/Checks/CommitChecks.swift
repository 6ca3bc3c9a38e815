import CloudStore
import StrictText

extension ConformanceCheck {
    /// Commits: one winner for each number, all or nothing, durable when publish returns.
    static let commits: [ConformanceCheck] = [
        ConformanceCheck("aPublishedCommitIsThere") { trial in
            try await trial.makeZone()
            let token = try await trial.publish([trial.item(7)], after: nil)
            try trial.expect(token.number, is: 1, "the first commit's number")
            let state = try await trial.cloud.records(in: ConformanceContext.zone)
            try trial.expect(state.token, is: token, "the zone's token")
            try trial.expect(state.record("item")?.fields, is: ["count": .integer(7)], "the record's fields")
        },
        ConformanceCheck("preparingPublishesNothing") { trial in
            try await trial.makeZone()
            let draft = CommitDraft(device: "writer", saving: [trial.item(1)], clock: .now)
            _ = try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone)
            try trial.expect(try await trial.cloud.records(in: ConformanceContext.zone).token == nil, "a commit that was only prepared is there")
        },
        ConformanceCheck("aCommitIsAllOrNothing") { trial in
            try await trial.makeZone()
            let first = try await trial.publish((0..<9).map { trial.item(0, name: "r\($0)") }, after: nil)
            try await trial.publish((0..<8).map { trial.item(1, name: "r\($0)") }, deleting: ["r8"], after: first)
            let state = try await trial.cloud.records(in: ConformanceContext.zone)
            try trial.expect(state.records.map(\.name), is: (0..<8).map { "r\($0)" }, "the records")
            try trial.expect(state.records.allSatisfy { $0.fields == ["count": .integer(1)] }, "a record of the commit is missing")
            let saved = try await trial.cloud.changes(since: first, in: ConformanceContext.zone).commits.last?.saved
            try trial.expect(saved?.count, is: 8, "the commit's records")
        },
        ConformanceCheck("aLostRaceIsTold") { trial in
            try await trial.makeZone()
            let first = try await trial.publish([trial.item(1)], after: nil)
            let late = try await trial.cloud.prepare(
                CommitDraft(device: "other", saving: [trial.item(99)], clock: .now), after: first, in: ConformanceContext.zone)
            let winner = try await trial.publish([trial.item(2)], after: first)
            try await trial.expect(.serverRecordChanged, "the number is taken") { _ = try await trial.cloud.publish(late) }
            let state = try await trial.cloud.records(in: ConformanceContext.zone)
            try trial.expect(state.token, is: winner, "the zone's token after a lost race")
            try trial.expect(state.record("item")?.fields["count"], is: .integer(2), "the winner's record")
        },
        ConformanceCheck("publishingTheSameBytesTwiceIsOneCommit") { trial in
            try await trial.makeZone()
            let commit = try await trial.cloud.prepare(
                CommitDraft(device: "writer", saving: [trial.item(1)], clock: .now), after: nil, in: ConformanceContext.zone)
            let once = try await trial.cloud.publish(commit), twice = try await trial.cloud.publish(commit)
            try trial.expect(twice, is: once, "the token of the second time")
            try trial.expect(once, is: commit.token, "the token that was prepared")
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).count, is: 1, "the number of commits")
            let next = try await trial.publish([trial.item(2)], after: once)
            try trial.expect(try await trial.cloud.publish(commit), is: once, "the token of the third time, with a commit after it")
            try trial.expect(try await trial.changes(since: nil).token, is: next, "the newest token")
        },
        ConformanceCheck("equalContentGivesDifferentCommits") { trial in
            try await trial.makeZone()
            let draft = CommitDraft(device: "writer", saving: [trial.item(1)], clock: .now)
            let one = try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone)
            let two = try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone)
            try trial.expect(one.token != two.token, "two attempts with equal content cannot be told apart")
            try trial.expect(one.token.hash != two.token.hash, "two attempts with equal content have one hash")
            _ = try await trial.cloud.publish(one)
            try await trial.expect(.serverRecordChanged, "the other attempt") { _ = try await trial.cloud.publish(two) }
        },
        ConformanceCheck("numbersOfDecidedEditsNeverFall") { trial in
            try await trial.makeZone()
            func publish(_ answered: [ExactText: Int64], saving: [CloudRecord] = [], after token: ChangeToken?) async throws -> ChangeToken {
                var draft = CommitDraft(device: "writer", saving: saving, clock: .now)
                draft.answered = answered
                return try await trial.cloud.publish(trial.cloud.prepare(draft, after: token, in: ConformanceContext.zone))
            }
            var token = try await publish([:], saving: [trial.item(1)], after: nil)
            token = try await publish(["phone": 7, "watch": 1_790_000_000_000_000], after: token)
            token = try await publish(["phone": 9], after: token)
            token = try await publish([:], saving: [trial.item(2)], after: token)
            let commits = try await trial.changes(since: nil).commits
            let expected: [[ExactText: Int64]] =
                [[:], ["phone": 7, "watch": 1_790_000_000_000_000]] + Array(repeating: ["phone": 9, "watch": 1_790_000_000_000_000], count: 2)
            try trial.expect(commits.map(\.answered), is: expected, "the numbers of decided edits")
            for numbers: [ExactText: Int64] in [["phone": 8], ["phone": 0], ["../phone": 9]] {
                let parent = token
                try await trial.expect(.invalidArguments, "a number that falls, or is none") {
                    _ = try await publish(numbers, saving: [trial.item(3)], after: parent)
                }
            }
        },
        ConformanceCheck("ofManyRacersOneWins") { trial in
            try await trial.makeZone()
            let first = try await trial.publish([trial.item(0)], after: nil)
            let wins = try await withThrowingTaskGroup(of: Bool.self) { group in
                for racer in 1...8 {
                    group.addTask {
                        do {
                            try await trial.publish([trial.item(Int64(racer))], after: first, by: "racer\(racer)")
                            return true
                        } catch let error as CloudError where error.code == .serverRecordChanged {
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            try trial.expect(wins, is: 1, "the number of winners")
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).count, is: 2, "the number of commits")
        },
        ConformanceCheck("underOnePublisherOthersAreRefused") { trial in
            try await trial.makeZone(.one)
            try await trial.expect(.notAuthorized, "another device") { try await trial.publish([trial.item(1)], after: nil, by: "other") }
            let token = try await trial.publish([trial.item(1)], after: nil)
            try await trial.expect(.notAuthorized, "another device") { try await trial.publish([trial.item(2)], after: token, by: "other") }
            try trial.expect(try await trial.changes(since: token).commits.isEmpty, "a refused commit was published")
        },
        ConformanceCheck("theFirstCommitIsTheCreators") { trial in
            try await trial.makeZone(.many)
            try await trial.expect(.notAuthorized, "the first commit") { try await trial.publish([trial.item(1)], after: nil, by: "other") }
            let token = try await trial.publish([trial.item(1)], after: nil)
            try await trial.publish([trial.item(2)], after: token, by: "other")
        },
        ConformanceCheck("whatNobodyCouldReadBackIsRefused") { trial in
            try await trial.makeZone()
            var deep = CloudValue.list([])
            for _ in 0..<6 { deep = .list([deep]) }
            for value in [CloudValue.double(.nan), .double(.infinity), .list([.double(-.infinity)]), deep, .date(Instant(microseconds: .max))] {
                let record = CloudRecord(type: "Item", name: "item", fields: ["value": value])
                try await trial.expect(.invalidArguments, "an impossible value") { try await trial.publish([record], after: nil) }
            }
            try await trial.expect(.invalidArguments, "a record twice") { try await trial.publish([trial.item(1), trial.item(2)], after: nil) }
            try await trial.expect(.invalidArguments, "a record saved and deleted") {
                try await trial.publish([trial.item(1)], deleting: ["item"], after: nil)
            }
            try await trial.expect(.invalidArguments, "a record deleted twice") { try await trial.publish([], deleting: ["a", "a"], after: nil) }
            try await trial.expect(.invalidArguments, "nothing at all") { try await trial.publish([], after: nil) }
            try trial.expect(try await trial.changes(since: nil).token == nil, "a refused commit was published")
        },
        ConformanceCheck("anUnsetClockDoesNotPublish") { trial in
            try await trial.makeZone(.one)
            // The check may be delayed between reading the clock and the store reading its own.
            let day: Int64 = 86_400_000_000, margin: Int64 = 3_600_000_000
            for clock in [
                Instant(microseconds: 0), try Instant(parsing: "1999-12-31T23:59:59.999999Z"), try Instant(parsing: "2100-01-01T00:00:00.000001Z"),
                Instant(microseconds: .min), Instant.now.advanced(byMicroseconds: day + margin), Instant.now.advanced(byMicroseconds: -day - margin),
            ] {
                try await trial.expect(.clockUnusable, "a clock at \(clock.microseconds)") {
                    try await trial.publish([trial.item(1)], after: nil, clock: clock)
                }
            }
            try trial.expect(try await trial.changes(since: nil).token == nil, "a refused commit was published")
            try await trial.publish([trial.item(1)], after: nil, clock: Instant.now.advanced(byMicroseconds: day - margin))
        },
        ConformanceCheck("aStaleTokenIsRefused") { trial in
            try await trial.makeZone(.one)
            let first = try await trial.publish([trial.item(1)], after: nil)
            let second = try await trial.publish([trial.item(2)], after: first)
            let error = try await trial.expect(.serverRecordChanged, "a commit after the last but one") {
                try await trial.publish([trial.item(3)], after: first)
            }
            try trial.expect(error.isRetryable, "a lost race can be tried again")
            try await trial.expect(.serverRecordChanged, "a second first commit") { try await trial.publish([trial.item(3)], after: nil) }
            try trial.expect(try await trial.changes(since: nil).token, is: second, "the newest token")
        },
        ConformanceCheck("ofManyPublishersOneWinsEachNumber") { trial in
            try await trial.makeZone()
            let start = try await trial.publish([trial.item(0)], after: nil)
            let each = 5, devices = 8
            let won = try await withThrowingTaskGroup(of: [ChangeToken].self) { group in
                for device in 0..<devices {
                    group.addTask {
                        var token = start
                        var won: [ChangeToken] = []
                        // Limit the attempts, because on a broken cloud nobody ever wins.
                        for _ in 0..<5000 where won.count < each {
                            do {
                                token = try await trial.publish(
                                    [trial.item(Int64(won.count), name: "device\(device)")], after: token, by: "device\(device)")
                                won.append(token)
                            } catch let error as CloudError where error.code == .serverRecordChanged {
                                token = try await trial.changes(since: token).token ?? token
                            }
                        }
                        return won
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            try trial.expect(won.map(\.number).sorted(), is: Array(2...(each * devices + 1)), "the numbers that were won")
            try trial.expect(Set(try await trial.changes(since: start).commits.map(\.token)), is: Set(won), "the commits that are there")
            let records = try await trial.state().records
            try trial.expect(records.count, is: devices + 1, "the number of records")
            try trial.expect(
                records.filter { $0.name != "item" }.allSatisfy { $0.fields["count"] == .integer(Int64(each - 1)) }, "each device's last record")
        },
        ConformanceCheck("timestampsRiseThoughClocksGoBack") { trial in
            try await trial.makeZone(.one)
            let now = Instant.now
            let first = try await trial.publish([trial.item(1)], after: nil, clock: now)
            let second = try await trial.publish([trial.item(2)], after: first, clock: now.advanced(byMicroseconds: -3_600_000_000))
            try await trial.publish([trial.item(3)], after: second, clock: now.advanced(byMicroseconds: 1_000_000))
            let commits = try await trial.changes(since: nil).commits
            try trial.expect(commits.map { $0.timestamp.microseconds - now.microseconds }, is: [0, 1000, 1_000_000], "the timestamps")
            try trial.expect(
                commits.map { $0.clock.microseconds - now.microseconds }, is: [0, -3_600_000_000, 1_000_000], "the publisher's own clock")
        },
        ConformanceCheck("approvalsTravelInTheCommit") { trial in
            try await trial.makeZone(.one)
            try await trial.publish(CommitDraft(device: "writer", saving: [trial.item(1)], clock: .now, approvals: ["shrink:item"]), after: nil)
            try trial.expect(try await trial.changes(since: nil).commits.map(\.approvals), is: [["shrink:item"]], "the approvals")
        },
    ]
}
