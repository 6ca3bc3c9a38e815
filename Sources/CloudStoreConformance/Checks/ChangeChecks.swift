import CloudStore

extension ConformanceCheck {
    /// Reading on from a token, and reading what was.
    static let changes: [ConformanceCheck] = [
        ConformanceCheck("changesComeOnceAndInOrder") { trial in
            try await trial.makeZone()
            let tokens = try await trial.history(of: 20)
            for index in tokens.indices {
                let changes = try await trial.cloud.changes(since: tokens[index], in: ConformanceContext.zone)
                try trial.expect(changes.commits.map(\.token), is: Array(tokens[(index + 1)...]), "the commits after number \(index + 1)")
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
    ]
}
