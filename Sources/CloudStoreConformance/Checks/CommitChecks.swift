import CloudStore
import StrictText

extension ConformanceCheck {
    /// Commits: one number, one winner, all or nothing, durable when said so.
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
        },
        ConformanceCheck("equalContentGivesDifferentCommits") { trial in
            try await trial.makeZone()
            let draft = CommitDraft(device: "writer", saving: [trial.item(1)], clock: .now)
            let one = try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone)
            let two = try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone)
            try trial.expect(one.token != two.token, "two attempts with equal content cannot be told apart")
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
        },
        ConformanceCheck("theFirstCommitIsTheCreators") { trial in
            try await trial.makeZone(.many)
            try await trial.expect(.notAuthorized, "the first commit") { try await trial.publish([trial.item(1)], after: nil, by: "other") }
            let token = try await trial.publish([trial.item(1)], after: nil)
            try await trial.publish([trial.item(2)], after: token, by: "other")
        },
        ConformanceCheck("whatNobodyCouldReadBackIsRefused") { trial in
            try await trial.makeZone()
            for value in [CloudValue.double(.nan), .double(.infinity), .list([.double(-.infinity)]), .date(Instant(microseconds: .max))] {
                let record = CloudRecord(type: "Item", name: "item", fields: ["value": value])
                try await trial.expect(.invalidArguments, "an impossible value") { try await trial.publish([record], after: nil) }
            }
            try await trial.expect(.invalidArguments, "a record twice") { try await trial.publish([trial.item(1), trial.item(2)], after: nil) }
            try await trial.expect(.invalidArguments, "nothing at all") { try await trial.publish([], after: nil) }
        },
        ConformanceCheck("anUnsetClockDoesNotPublish") { trial in
            try await trial.makeZone()
            let draft = CommitDraft(device: "writer", saving: [trial.item(1)], clock: Instant(microseconds: 0))
            try await trial.expect(.clockUnusable, "a clock in 1970") {
                _ = try await trial.cloud.publish(try await trial.cloud.prepare(draft, after: nil, in: ConformanceContext.zone))
            }
        },
    ]
}
