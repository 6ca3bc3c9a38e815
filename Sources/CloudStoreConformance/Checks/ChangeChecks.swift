import CloudStore
import StrictText

extension ConformanceCheck {
    /// Reading the changes since a token, and earlier versions.
    static let changes: [ConformanceCheck] = [
        ConformanceCheck("changesComeOnceAndInOrder") { trial in
            try await trial.makeZone()
            let tokens = try await trial.history(of: 20)
            for index in tokens.indices {
                let changes = try await trial.cloud.changes(since: tokens[index], in: ConformanceContext.zone)
                try trial.expect(changes.commits.map(\.token), is: Array(tokens[(index + 1)...]), "the commits after number \(index + 1)")
                try trial.expect(changes.commits.map(\.parent), is: tokens[index...].dropLast().map(\.hash), "their parents")
                try trial.expect(changes.token, is: tokens.last, "the newest token")
                try trial.expect(changes.base.isEmpty, "a token that holds needs no base")
            }
        },
        ConformanceCheck("eachCommitNamesItsParent") { trial in
            try await trial.makeZone()
            let tokens = try await trial.history(of: 5)
            let commits = try await trial.cloud.history(in: ConformanceContext.zone)
            try trial.expect(commits.map(\.token), is: tokens, "the history")
            try trial.expect(commits.map(\.parent), is: [nil] + tokens.dropLast().map(\.hash), "the parents")
            for (one, two) in zip(commits, commits.dropFirst()) {
                try trial.expect(one.timestamp < two.timestamp, "timestamps do not increase")
            }
        },
        ConformanceCheck("aFirstVisitGivesTheZoneWhole") { trial in
            try await trial.makeZone()
            _ = try await trial.history(of: 40)
            let changes = try await trial.cloud.changes(since: nil, in: ConformanceContext.zone)
            var found = Dictionary(changes.base.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
            for record in changes.commits.flatMap(\.saved) { found[record.name] = record }
            let state = try await trial.cloud.records(in: ConformanceContext.zone)
            try trial.expect(found.values.sorted { $0.name < $1.name }, is: state.records, "the records")
        },
        ConformanceCheck("everyVersionCanBeRead") { trial in
            try await trial.makeZone()
            let tokens = try await trial.history(of: 20)
            for token in tokens {
                let state = try await trial.cloud.records(in: ConformanceContext.zone, at: token.number, notBefore: nil)
                try trial.expect(state.token, is: token, "version \(token.number)'s token")
                let record = state.record("item\(token.number % 5)")
                try trial.expect(record?.fields["count"], is: .integer(Int64(token.number)), "version \(token.number)'s record")
                try trial.expect(state.records.count, is: min(token.number, 5), "version \(token.number)'s number of records")
            }
            try await trial.expect(.unknownItem, "a version that is not there") {
                _ = try await trial.cloud.records(in: ConformanceContext.zone, at: 21, notBefore: nil)
            }
        },
        ConformanceCheck("aTokenOfAnotherHistoryIsRefused") { trial in
            try await trial.makeZone()
            let tokens = try await trial.history(of: 3)
            let foreign = ChangeToken(number: 2, hash: String(repeating: "ab", count: 32))
            let ahead = ChangeToken(number: 9, hash: tokens[2].hash)
            for token in [foreign, ahead] {
                try await trial.expect(.rolledBack, "changes since a foreign token") {
                    _ = try await trial.cloud.changes(since: token, in: ConformanceContext.zone)
                }
                try await trial.expect(.rolledBack, "a commit after a foreign token") { try await trial.publish([trial.item(1)], after: token) }
                try await trial.expect(.rolledBack, "records not before a foreign token") {
                    _ = try await trial.cloud.records(in: ConformanceContext.zone, at: nil, notBefore: token)
                }
            }
        },
        ConformanceCheck("aZonesChangesAreEachRecordOnce") { trial in
            let zone = try await trial.makeZone()
            let tokens = try await trial.history(of: 8)
            let whole = try await zone.changes(since: nil)
            try trial.expect(whole.isWhole && whole.changed.count == 5 && whole.token == tokens[7], "all records for no token")
            try await zone.delete("item4")
            let changes = try await zone.changes(since: tokens[3])
            try trial.expect(changes.changed.map(\.name), is: ["item0", "item1", "item2", "item3"], "the changed records")
            try trial.expect(changes.deleted, is: ["item4"], "the deleted records")
            try trial.expect(changes.changed.first { $0.name == "item1" }?.fields["count"], is: .integer(6), "the newest state")
            try trial.expect(!changes.isWhole, "a token that holds gives no refetch")
            let none = try await zone.changes(since: changes.token)
            try trial.expect(none.changed.isEmpty && none.deleted.isEmpty && none.token == changes.token, "nothing new")
        },
        ConformanceCheck("theFirstCommitReachesANewReader") { trial in
            try await trial.makeZone(.one)
            let clock = Instant.now
            let token = try await trial.publish([trial.item(7)], after: nil, clock: clock)
            try trial.expect(token.number == 1 && token.hash.utf8.count == 64, "the token: \(token)")
            let changes = try await trial.changes(since: nil)
            try trial.expect(changes.token == token && changes.base.isEmpty, "the changes: \(changes)")
            try trial.expect(changes.commits.map(\.parent), is: [nil], "the commits' parents")
            try trial.expect(changes.commits.map(\.device), is: ["writer"], "the commit's device")
            try trial.expect(changes.commits.flatMap { [$0.clock, $0.timestamp] }, is: [clock, clock], "the commit's clock and timestamp")
            try trial.expect(changes.commits.flatMap(\.saved).map(\.name), is: ["item"], "the saved records")
            try trial.expect(changes.commits.flatMap(\.saved).map(\.fields), is: [["count": .integer(7)]], "the record's fields")
            let state = try await trial.state()
            try trial.expect(state.token == token && state.timestamp == clock && state.record("item")?.type == "Item", "the records: \(state)")
        },
        ConformanceCheck("aDeletedRecordIsGoneFromThatVersionOn") { trial in
            try await trial.makeZone(.one)
            var token = try await trial.publish([trial.item(1)], after: nil)
            token = try await trial.publish([trial.item(2)], after: token)
            token = try await trial.publish([], deleting: ["item", "neverThere"], after: token)
            func state(_ number: Int, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
                try await trial.cloud.records(in: ConformanceContext.zone, at: number, notBefore: token)
            }
            try trial.expect(try await state(1).record("item")?.fields["count"], is: .integer(1), "version 1")
            try trial.expect(try await state(2, notBefore: token).record("item")?.fields["count"], is: .integer(2), "version 2")
            try trial.expect(try await state(3).records.isEmpty, "version 3 has a record")
            let commit = try await trial.changes(since: nil).commits.last
            try trial.expect(commit?.deleted, is: ["item", "neverThere"], "the deleted records")
            try trial.expect(commit?.saved.isEmpty == true, "a deletion saves a record")
            try await trial.expect(.unknownItem, "a version that is not there") { _ = try await state(4) }
        },
        ConformanceCheck("aChangeTagNamesTheCommitThatSavedLast") { trial in
            try await trial.makeZone(.one)
            var token = try await trial.publish([trial.item(1, name: "a")], after: nil)
            token = try await trial.publish([trial.item(1, name: "b")], after: token)
            token = try await trial.publish([trial.item(2, name: "a")], after: token)
            try trial.expect(try await trial.state().records.map { "\($0.name)\($0.changeTag ?? "")" }, is: ["a3", "b2"], "the change tags")
            try trial.expect(trial.item(1).changeTag == nil, "a record that was never saved has a change tag")
        },
    ]
}
