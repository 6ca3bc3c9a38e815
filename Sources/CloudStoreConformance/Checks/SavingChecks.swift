import CloudStore

extension ConformanceCheck {
    /// Change tags and the three save policies.
    static let saving: [ConformanceCheck] = [
        ConformanceCheck("everySaveChangesTheTag") { trial in
            let zone = try await trial.makeZone()
            var record = try await zone.save(trial.item(1)), tags: Set<String?> = [nil, record.changeTag]
            for number in 2...20 {
                record.fields["count"] = .integer(Int64(number % 2))
                record = try await zone.save(record)
                try trial.expect(tags.insert(record.changeTag).inserted, "a save did not change the tag")
                try trial.expect(try await trial.device("reader").record("item").changeTag, is: record.changeTag, "the tag that others see")
            }
        },
        ConformanceCheck("aSavedRecordSaysWhoAndWhen") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            let made = try await zone.save(trial.item(1))
            try trial.expect(made.creation?.device, is: "writer", "the creator")
            try trial.expect(made.modification, is: made.creation, "a new record's modification")
            var record = try await other.record("item")
            record.fields["count"] = .integer(2)
            let saved = try await other.save(record)
            try trial.expect(saved.creation, is: made.creation, "the creation after a second save")
            try trial.expect(saved.modification?.device, is: "other", "the last modifier")
            let found = try await trial.device("reader").record("item")
            try trial.expect(found.creation, is: made.creation, "the creation that others see")
            try trial.expect(found.modification, is: saved.modification, "the modification that others see")
        },
        ConformanceCheck("aChangedTagIsAConflictWithItsThreeVersions") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            let base = try await zone.save(trial.item(1))
            var theirs = try await other.record("item"), ours = base
            theirs.fields["count"] = .integer(2)
            theirs = try await other.save(theirs)
            ours.fields["count"] = .integer(3)
            let error = try await trial.expect(.serverRecordChanged, "an old tag") { try await zone.save(ours) }
            try trial.expect(error.conflict?.server, is: theirs, "the server's record")
            try trial.expect(error.conflict?.client, is: ours, "the client's record")
            try trial.expect(error.conflict?.ancestor, is: base, "the ancestor")
            guard var merged = error.conflict?.server else { return }
            merged.fields["count"] = .integer(5)
            try await zone.save(merged)
            try trial.expect(try await other.record("item").fields["count"], is: .integer(5), "the merged record")
        },
        ConformanceCheck("aNewRecordDoesNotReplaceOneThatIsThere") { trial in
            let zone = try await trial.makeZone()
            let there = try await zone.save(trial.item(1))
            let error = try await trial.expect(.serverRecordChanged, "a record of that name") { try await zone.save(trial.item(2)) }
            try trial.expect(error.conflict?.server, is: there, "the server's record")
            try trial.expect(error.conflict?.ancestor == nil, "a record that was made here has no ancestor")
        },
        ConformanceCheck("aTagOfARecordThatIsGoneIsAnUnknownItem") { trial in
            let zone = try await trial.makeZone()
            var record = try await zone.save(trial.item(1))
            try await zone.delete("item")
            record.fields["count"] = .integer(2)
            for policy in RecordSavePolicy.allCases {
                try await trial.expect(.unknownItem, "a save by \(policy)") { try await zone.save(record, savePolicy: policy) }
            }
            try await zone.save(trial.item(3))
        },
        ConformanceCheck("changedKeysLeavesTheOthersKeysAlone") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            let base = try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1), "c": .integer(1)]))
            var theirs = try await other.record("item"), ours = base
            theirs.fields["b"] = .integer(2)
            theirs.fields["d"] = .integer(2)
            try await other.save(theirs)
            ours.fields["a"] = .integer(3)
            ours.fields["c"] = nil
            let saved = try await zone.save(ours, savePolicy: .changedKeys)
            try trial.expect(saved.fields, is: ["a": .integer(3), "b": .integer(2), "d": .integer(2)], "the fields of both")
        },
        ConformanceCheck("allKeysKeepsWhatOnlyTheServerHas") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            let base = try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1)]))
            var theirs = base
            theirs.fields = ["a": .integer(2), "b": .integer(2), "d": .integer(2)]
            try await other.save(theirs)
            let saved = try await zone.save(base, savePolicy: .allKeys)
            try trial.expect(saved.fields, is: ["a": .integer(1), "b": .integer(1), "d": .integer(2)], "the fields")
        },
        ConformanceCheck("aRecordFetchedInPartKeepsItsOtherFields") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1)]))
            for policy in RecordSavePolicy.allCases {
                var part = try await zone.record("item", desiredKeys: ["a"])
                part.fields["a"] = .integer(2)
                let saved = try await zone.save(part, savePolicy: policy)
                try trial.expect(saved.fields, is: ["a": .integer(2), "b": .integer(1)], "the fields after a save by \(policy)")
            }
        },
        ConformanceCheck("aRecordKeepsItsType") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(1))
            let other = CloudRecord(type: "Other", name: "item", fields: [:])
            try await trial.expect(.invalidArguments, "another type") { try await zone.save(other, savePolicy: .allKeys) }
        },
        ConformanceCheck("noUpdateIsLostAmongManyDevices") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in 0..<4 {
                    let own = trial.device("device\(device)")
                    group.addTask { for _ in 0..<5 { try await increment(on: own) } }
                }
                try await group.waitForAll()
            }
            try trial.expect(try await trial.device("reader").record("item").fields["count"], is: .integer(20), "the sum of all increments")
        },
    ]

    /// Increments the count as CloudKit code does: after a conflict, it starts again from the server's record.
    private static func increment(on zone: CloudZone) async throws {
        var record = try await zone.record("item")
        for _ in 0..<500 {
            guard case .integer(let count) = record.fields["count"] else { throw BrokenPromise(reason: "the count is gone", line: #line) }
            record.fields["count"] = .integer(count + 1)
            do {
                try await zone.save(record)
                return
            } catch let error as CloudError where error.code == .serverRecordChanged {
                guard let server = error.conflict?.server else { throw error }
                record = server
            }
        }
        throw BrokenPromise(reason: "a save from the server's own record is a conflict again and again", line: #line)
    }
}
