import CloudStore
import RecordZones

extension ContractCheck {
    /// Several records in one request.
    static let batches: [ContractCheck] = [
        ContractCheck("oneBadRecordFailsAnAtomicRequest") { test in
            let zone = try await test.makeZone()
            try await zone.save(test.item(1, name: "taken"))
            let before = try await test.cloud.records(in: ContractTest.zone).token
            let results = try await zone.modify(
                saving: [test.item(2, name: "good"), test.item(2, name: "taken"), test.item(2, name: "fine")], deleting: ["nobody"])
            try test.expect(
                results.failures.mapValues(\.code),
                is: ["good": .batchRequestFailed, "taken": .serverRecordChanged, "fine": .batchRequestFailed, "nobody": .batchRequestFailed],
                "each record's error")
            try test.expect(results.failure?.code, is: .partialFailure, "the request's error")
            try test.expect(results.failure?.cause.code, is: .serverRecordChanged, "its cause")
            try test.expect(try await test.cloud.records(in: ContractTest.zone).token, is: before, "the zone's token")
        },
        ContractCheck("aRequestThatIsNotAtomicSavesTheRest") { test in
            let zone = try await test.makeZone()
            try await zone.save(test.item(1, name: "taken"))
            try await zone.save(test.item(1, name: "old"))
            let bad = CloudRecord(type: "Item", name: "bad", fields: ["value": .double(.nan)])
            let results = try await zone.modify(
                saving: [test.item(2, name: "good"), test.item(2, name: "taken"), bad], deleting: ["old", "nobody"], atomically: false)
            try test.expect(
                results.failures.mapValues(\.code), is: ["taken": .serverRecordChanged, "bad": .invalidArguments], "each record's error")
            let names = try await test.cloud.records(in: ContractTest.zone).records.map(\.name)
            try test.expect(names, is: ["good", "taken"], "the records that are there")
            try test.expect(results.saveResults.map(\.name), is: ["good", "taken", "bad"], "the order of the results")
        },
        ContractCheck("aRequestIsOneCommit") { test in
            let zone = try await test.makeZone()
            let first = try await zone.modify(saving: (0..<20).map { test.item($0, name: "r\($0)") })
            try test.expect(try first.get().count, is: 20, "the saved records")
            try await zone.modify(saving: [test.item(1, name: "new")], deleting: (0..<10).map { "r\($0)" }).get()
            let commits = try await test.cloud.history(in: ContractTest.zone)
            try test.expect(commits.count, is: 2, "the number of commits")
            try test.expect(commits.last?.deleted.count, is: 10, "the deletions of the second")
        },
        ContractCheck("nothingToChangeMakesNoCommit") { test in
            let zone = try await test.makeZone()
            try await zone.save(test.item(1))
            try test.expect(try await zone.modify(saving: [], deleting: ["nobody"]).failure == nil, "deleting what is not there is no failure")
            try await zone.modify(saving: []).get()
            try test.expect(try await test.cloud.history(in: ContractTest.zone).count, is: 1, "the number of commits")
        },
        ContractCheck("aRecordIsNamedOnceInARequest") { test in
            let zone = try await test.makeZone()
            try await test.expect(.invalidArguments, "a record saved twice") { _ = try await zone.modify(saving: [test.item(1), test.item(2)]) }
            try await test.expect(.invalidArguments, "a record saved and deleted") {
                _ = try await zone.modify(saving: [test.item(1)], deleting: ["item"])
            }
        },
        ContractCheck("aDeletionTakesItsDependantsAlong") { test in
            let zone = try await test.makeZone()
            func note(_ name: String, on target: String, _ action: RecordReference.Action = .deleteSelf) -> CloudRecord {
                CloudRecord(type: "Note", name: name, fields: ["on": .list([.reference(RecordReference(to: target, action: action))])])
            }
            try await zone.modify(saving: [
                test.item(1), note("n1", on: "item"), note("n2", on: "n1"), note("weak", on: "item", .none), test.item(2, name: "other"),
            ]).get()
            try await zone.delete("item")
            let names = try await test.cloud.records(in: ContractTest.zone).records.map(\.name)
            try test.expect(names, is: ["other", "weak"], "the records that stay")
        },
        ContractCheck("aDependantNeedsItsTarget") { test in
            let zone = try await test.makeZone()
            let note = CloudRecord(type: "Note", name: "note", fields: ["on": .reference(RecordReference(to: "item", action: .deleteSelf))])
            let chained = CloudRecord(type: "Note", name: "chained", fields: ["on": .reference(RecordReference(to: "note", action: .deleteSelf))])
            try await test.expect(.referenceViolation, "no target") { try await zone.save(note) }
            let results = try await zone.modify(saving: [note, chained, test.item(1, name: "free")], atomically: false)
            try test.expect(
                results.failures.mapValues(\.code), is: ["note": .referenceViolation, "chained": .referenceViolation], "each record's error")
            try await zone.modify(saving: [test.item(1), note]).get()
            let both = try await zone.modify(saving: [try await zone.record("note")], deleting: ["item"])
            try test.expect(both.failures["note"]?.code, is: .referenceViolation, "a save of what goes with its target")
        },
    ]
}
