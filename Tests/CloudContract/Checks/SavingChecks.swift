import CloudStore
import RecordZones

extension ContractCheck {
    /// Change tags and the three save policies.
    static let saving: [ContractCheck] = [
        ContractCheck("everySaveChangesTheTag") { test in
            let zone = try await test.makeZone()
            var record = try await zone.save(test.item(1)), tags: Set<String?> = [nil, record.changeTag]
            for number in 2...20 {
                record.fields["count"] = .integer(Int64(number % 2))
                record = try await zone.save(record)
                try test.expect(tags.insert(record.changeTag).inserted, "a save did not change the tag")
                try test.expect(try await test.device("reader").record("item").changeTag, is: record.changeTag, "the tag that others see")
            }
        },
        ContractCheck("aSavedRecordSaysWhoAndWhen") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            let made = try await zone.save(test.item(1))
            try test.expect(made.creation?.device, is: "writer", "the creator")
            try test.expect(made.modification, is: made.creation, "a new record's modification")
            var record = try await other.record("item")
            record.fields["count"] = .integer(2)
            let saved = try await other.save(record)
            try test.expect(saved.creation, is: made.creation, "the creation after a second save")
            try test.expect(saved.modification?.device, is: "other", "the last modifier")
            let found = try await test.device("reader").record("item")
            try test.expect(found.creation, is: made.creation, "the creation that others see")
            try test.expect(found.modification, is: saved.modification, "the modification that others see")
        },
        ContractCheck("aChangedTagIsAConflictWithItsThreeVersions") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            let base = try await zone.save(test.item(1))
            var theirs = try await other.record("item"), ours = base
            theirs.fields["count"] = .integer(2)
            theirs = try await other.save(theirs)
            ours.fields["count"] = .integer(3)
            let error = try await test.expect(.serverRecordChanged, "an old tag") { try await zone.save(ours) }
            try test.expect(error.conflict?.server, is: theirs, "the server's record")
            try test.expect(error.conflict?.client, is: ours, "the client's record")
            try test.expect(error.conflict?.ancestor, is: base, "the ancestor")
            guard var merged = error.conflict?.server else { return }
            merged.fields["count"] = .integer(5)
            try await zone.save(merged)
            try test.expect(try await other.record("item").fields["count"], is: .integer(5), "the merged record")
        },
        ContractCheck("aNewRecordDoesNotReplaceOneThatIsThere") { test in
            let zone = try await test.makeZone()
            let there = try await zone.save(test.item(1))
            let error = try await test.expect(.serverRecordChanged, "a record of that name") { try await zone.save(test.item(2)) }
            try test.expect(error.conflict?.server, is: there, "the server's record")
            try test.expect(error.conflict?.ancestor == nil, "a record that was made here has no ancestor")
        },
        ContractCheck("aTagOfARecordThatIsGoneIsAnUnknownItem") { test in
            let zone = try await test.makeZone()
            var record = try await zone.save(test.item(1))
            try await zone.delete("item")
            record.fields["count"] = .integer(2)
            for policy in RecordSavePolicy.allCases {
                try await test.expect(.unknownItem, "a save by \(policy)") { try await zone.save(record, savePolicy: policy) }
            }
            try await zone.save(test.item(3))
        },
        ContractCheck("changedKeysLeavesTheOthersKeysAlone") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            let base = try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1), "c": .integer(1)]))
            var theirs = try await other.record("item"), ours = base
            theirs.fields["b"] = .integer(2)
            theirs.fields["d"] = .integer(2)
            try await other.save(theirs)
            ours.fields["a"] = .integer(3)
            ours.fields["c"] = nil
            let saved = try await zone.save(ours, savePolicy: .changedKeys)
            try test.expect(saved.fields, is: ["a": .integer(3), "b": .integer(2), "d": .integer(2)], "the fields of both")
        },
        ContractCheck("allKeysKeepsWhatOnlyTheServerHas") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            let base = try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1)]))
            var theirs = base
            theirs.fields = ["a": .integer(2), "b": .integer(2), "d": .integer(2)]
            try await other.save(theirs)
            let saved = try await zone.save(base, savePolicy: .allKeys)
            try test.expect(saved.fields, is: ["a": .integer(1), "b": .integer(1), "d": .integer(2)], "the fields")
        },
        ContractCheck("aRecordFetchedInPartKeepsItsOtherFields") { test in
            let zone = try await test.makeZone()
            try await zone.save(CloudRecord(type: "Item", name: "item", fields: ["a": .integer(1), "b": .integer(1)]))
            for policy in RecordSavePolicy.allCases {
                var part = try await zone.record("item", desiredKeys: ["a"])
                part.fields["a"] = .integer(2)
                let saved = try await zone.save(part, savePolicy: policy)
                try test.expect(saved.fields, is: ["a": .integer(2), "b": .integer(1)], "the fields after a save by \(policy)")
            }
        },
        ContractCheck("aRecordKeepsItsType") { test in
            let zone = try await test.makeZone()
            try await zone.save(test.item(1))
            let other = CloudRecord(type: "Other", name: "item", fields: [:])
            try await test.expect(.invalidArguments, "another type") { try await zone.save(other, savePolicy: .allKeys) }
        },
        ContractCheck("noUpdateIsLostAmongManyDevices") { test in
            let zone = try await test.makeZone()
            try await zone.save(test.item(0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for device in 0..<4 {
                    let own = test.device("device\(device)")
                    group.addTask { for _ in 0..<5 { try await increment(on: own) } }
                }
                try await group.waitForAll()
            }
            try test.expect(try await test.device("reader").record("item").fields["count"], is: .integer(20), "the sum of all increments")
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
