import CloudStore
import RecordZones
import StrictText

extension ContractCheck {
    /// Reading the changes since a token, and earlier versions.
    static let changes: [ContractCheck] = [
        ContractCheck("changesComeOnceAndInOrder") { test in
            try await test.makeZone()
            let tokens = try await test.history(of: 20)
            for index in tokens.indices {
                let changes = try await test.cloud.changes(since: tokens[index], in: ContractTest.zone)
                try test.expect(changes.commits.map(\.token), is: Array(tokens[(index + 1)...]), "the commits after number \(index + 1)")
                try test.expect(changes.commits.map(\.parent), is: tokens[index...].dropLast().map(\.hash), "their parents")
                try test.expect(changes.token, is: tokens.last, "the newest token")
                try test.expect(changes.base.isEmpty, "a token that holds needs no base")
            }
            let commits = try await test.cloud.history(in: ContractTest.zone)
            try test.expect(commits.map(\.token), is: tokens, "the history")
            try test.expect(commits.map(\.parent), is: [nil] + tokens.dropLast().map(\.hash), "the parents")
            try test.expect(zip(commits, commits.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp }, "timestamps do not increase")
        },
        ContractCheck("aFirstVisitGivesTheZoneWhole") { test in
            try await test.makeZone()
            _ = try await test.history(of: 40)
            let changes = try await test.cloud.changes(since: nil, in: ContractTest.zone)
            var found = Dictionary(changes.base.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
            for record in changes.commits.flatMap(\.saved) { found[record.name] = record }
            let state = try await test.cloud.records(in: ContractTest.zone)
            try test.expect(found.values.sorted { $0.name < $1.name }, is: state.records, "the records")
        },
        ContractCheck("everyVersionCanBeRead") { test in
            try await test.makeZone()
            let tokens = try await test.history(of: 20)
            for token in tokens {
                let state = try await test.cloud.records(in: ContractTest.zone, at: token.number, notBefore: nil)
                try test.expect(state.token, is: token, "version \(token.number)'s token")
                let record = state.record("item\(token.number % 5)")
                try test.expect(record?.fields["count"], is: .integer(Int64(token.number)), "version \(token.number)'s record")
                try test.expect(state.records.count, is: min(token.number, 5), "version \(token.number)'s number of records")
            }
            try await test.expect(.unknownItem, "a version that is not there") {
                _ = try await test.cloud.records(in: ContractTest.zone, at: 21, notBefore: nil)
            }
        },
        ContractCheck("aTokenOfAnotherHistoryIsRefused") { test in
            try await test.makeZone()
            let tokens = try await test.history(of: 3)
            let foreign = ChangeToken(number: 2, hash: String(repeating: "ab", count: 32))
            let ahead = ChangeToken(number: 9, hash: tokens[2].hash)
            for token in [foreign, ahead] {
                try await test.expect(.rolledBack, "changes since a foreign token") {
                    _ = try await test.cloud.changes(since: token, in: ContractTest.zone)
                }
                try await test.expect(.rolledBack, "a commit after a foreign token") { try await test.publish([test.item(1)], after: token) }
                try await test.expect(.rolledBack, "records not before a foreign token") {
                    _ = try await test.cloud.records(in: ContractTest.zone, at: nil, notBefore: token)
                }
            }
        },
        ContractCheck("aZonesChangesAreEachRecordOnce") { test in
            let zone = try await test.makeZone()
            let tokens = try await test.history(of: 8)
            let whole = try await zone.changes(since: nil)
            try test.expect(whole.isWhole && whole.changed.count == 5 && whole.token == tokens[7], "all records for no token")
            try await zone.delete("item4")
            let changes = try await zone.changes(since: tokens[3])
            try test.expect(changes.changed.map(\.name), is: ["item0", "item1", "item2", "item3"], "the changed records")
            try test.expect(changes.deleted, is: ["item4"], "the deleted records")
            try test.expect(changes.changed.first { $0.name == "item1" }?.fields["count"], is: .integer(6), "the newest state")
            try test.expect(!changes.isWhole, "a token that holds gives no refetch")
            let none = try await zone.changes(since: changes.token)
            try test.expect(none.changed.isEmpty && none.deleted.isEmpty && none.token == changes.token, "nothing new")
        },
        ContractCheck("theFirstCommitReachesANewReader") { test in
            try await test.makeZone(.one)
            let clock = Instant.now
            let token = try await test.publish([test.item(7)], after: nil, clock: clock)
            try test.expect(token.number == 1 && token.hash.utf8.count == 64, "the token: \(token)")
            let changes = try await test.changes(since: nil)
            try test.expect(changes.token == token && changes.base.isEmpty, "the changes: \(changes)")
            try test.expect(changes.commits.map(\.parent), is: [nil], "the commits' parents")
            try test.expect(changes.commits.map(\.device), is: ["writer"], "the commit's device")
            try test.expect(changes.commits.flatMap { [$0.clock, $0.timestamp] }, is: [clock, clock], "the commit's clock and timestamp")
            try test.expect(changes.commits.flatMap(\.saved).map(\.name), is: ["item"], "the saved records")
            try test.expect(changes.commits.flatMap(\.saved).map(\.fields), is: [["count": .integer(7)]], "the record's fields")
            let state = try await test.state()
            try test.expect(state.token == token && state.timestamp == clock && state.record("item")?.type == "Item", "the records: \(state)")
        },
        ContractCheck("aDeletedRecordIsGoneFromThatVersionOn") { test in
            try await test.makeZone(.one)
            var token = try await test.publish([test.item(1)], after: nil)
            token = try await test.publish([test.item(2)], after: token)
            token = try await test.publish([], deleting: ["item", "neverThere"], after: token)
            func state(_ number: Int, notBefore token: ChangeToken? = nil) async throws -> ZoneState {
                try await test.cloud.records(in: ContractTest.zone, at: number, notBefore: token)
            }
            try test.expect(try await state(1).record("item")?.fields["count"], is: .integer(1), "version 1")
            try test.expect(try await state(2, notBefore: token).record("item")?.fields["count"], is: .integer(2), "version 2")
            try test.expect(try await state(3).records.isEmpty, "version 3 has a record")
            let commit = try await test.changes(since: nil).commits.last
            try test.expect(commit?.deleted, is: ["item", "neverThere"], "the deleted records")
            try test.expect(commit?.saved.isEmpty == true, "a deletion saves a record")
            try await test.expect(.unknownItem, "a version that is not there") { _ = try await state(4) }
        },
        ContractCheck("aChangeTagNamesTheCommitThatSavedLast") { test in
            try await test.makeZone(.one)
            var token = try await test.publish([test.item(1, name: "a")], after: nil)
            token = try await test.publish([test.item(1, name: "b")], after: token)
            token = try await test.publish([test.item(2, name: "a")], after: token)
            try test.expect(try await test.state().records.map { "\($0.name)\($0.changeTag ?? "")" }, is: ["a3", "b2"], "the change tags")
            try test.expect(test.item(1).changeTag == nil, "a record that was never saved has a change tag")
        },
    ]
}
