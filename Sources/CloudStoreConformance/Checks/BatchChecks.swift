import CloudStore

extension ConformanceCheck {
    /// Several records in one request.
    static let batches: [ConformanceCheck] = [
        ConformanceCheck("oneBadRecordFailsAnAtomicRequest") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(1, name: "taken"))
            let before = try await trial.cloud.records(in: ConformanceContext.zone).token
            let results = try await zone.modify(
                saving: [trial.item(2, name: "good"), trial.item(2, name: "taken"), trial.item(2, name: "fine")], deleting: ["nobody"])
            try trial.expect(
                results.failures.mapValues(\.code),
                is: ["good": .batchRequestFailed, "taken": .serverRecordChanged, "fine": .batchRequestFailed, "nobody": .batchRequestFailed],
                "each record's error")
            try trial.expect(results.failure?.code, is: .partialFailure, "the request's error")
            try trial.expect(results.failure?.cause.code, is: .serverRecordChanged, "its cause")
            try trial.expect(try await trial.cloud.records(in: ConformanceContext.zone).token, is: before, "the zone's token")
        },
        ConformanceCheck("aRequestThatIsNotAtomicSavesTheRest") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(1, name: "taken"))
            try await zone.save(trial.item(1, name: "old"))
            let bad = CloudRecord(type: "Item", name: "bad", fields: ["value": .double(.nan)])
            let results = try await zone.modify(
                saving: [trial.item(2, name: "good"), trial.item(2, name: "taken"), bad], deleting: ["old", "nobody"], atomically: false)
            try trial.expect(
                results.failures.mapValues(\.code), is: ["taken": .serverRecordChanged, "bad": .invalidArguments], "each record's error")
            let names = try await trial.cloud.records(in: ConformanceContext.zone).records.map(\.name)
            try trial.expect(names, is: ["good", "taken"], "the records that are there")
            try trial.expect(results.saveResults.map(\.name), is: ["good", "taken", "bad"], "the order of the results")
        },
        ConformanceCheck("aRequestIsOneCommit") { trial in
            let zone = try await trial.makeZone()
            let first = try await zone.modify(saving: (0..<20).map { trial.item($0, name: "r\($0)") })
            try trial.expect(try first.get().count, is: 20, "the saved records")
            try await zone.modify(saving: [trial.item(1, name: "new")], deleting: (0..<10).map { "r\($0)" }).get()
            let commits = try await trial.cloud.history(in: ConformanceContext.zone)
            try trial.expect(commits.count, is: 2, "the number of commits")
            try trial.expect(commits.last?.deleted.count, is: 10, "the deletions of the second")
        },
        ConformanceCheck("nothingToChangeMakesNoCommit") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(1))
            try trial.expect(try await zone.modify(saving: [], deleting: ["nobody"]).failure == nil, "deleting what is not there is no failure")
            try await zone.modify(saving: []).get()
            try trial.expect(try await trial.cloud.history(in: ConformanceContext.zone).count, is: 1, "the number of commits")
        },
        ConformanceCheck("aRecordIsNamedOnceInARequest") { trial in
            let zone = try await trial.makeZone()
            try await trial.expect(.invalidArguments, "a record saved twice") { _ = try await zone.modify(saving: [trial.item(1), trial.item(2)]) }
            try await trial.expect(.invalidArguments, "a record saved and deleted") {
                _ = try await zone.modify(saving: [trial.item(1)], deleting: ["item"])
            }
        },
        ConformanceCheck("aDeletionTakesItsDependantsAlong") { trial in
            let zone = try await trial.makeZone()
            func note(_ name: String, on target: String, _ action: RecordReference.Action = .deleteSelf) -> CloudRecord {
                CloudRecord(type: "Note", name: name, fields: ["on": .list([.reference(RecordReference(to: target, action: action))])])
            }
            try await zone.modify(saving: [
                trial.item(1), note("n1", on: "item"), note("n2", on: "n1"), note("weak", on: "item", .none), trial.item(2, name: "other"),
            ]).get()
            try await zone.delete("item")
            let names = try await trial.cloud.records(in: ConformanceContext.zone).records.map(\.name)
            try trial.expect(names, is: ["other", "weak"], "the records that stay")
        },
        ConformanceCheck("aDependantNeedsItsTarget") { trial in
            let zone = try await trial.makeZone()
            let note = CloudRecord(type: "Note", name: "note", fields: ["on": .reference(RecordReference(to: "item", action: .deleteSelf))])
            let chained = CloudRecord(type: "Note", name: "chained", fields: ["on": .reference(RecordReference(to: "note", action: .deleteSelf))])
            try await trial.expect(.referenceViolation, "no target") { try await zone.save(note) }
            let results = try await zone.modify(saving: [note, chained, trial.item(1, name: "free")], atomically: false)
            try trial.expect(
                results.failures.mapValues(\.code), is: ["note": .referenceViolation, "chained": .referenceViolation], "each record's error")
            try await zone.modify(saving: [trial.item(1), note]).get()
            let both = try await zone.modify(saving: [try await zone.record("note")], deleting: ["item"])
            try trial.expect(both.failures["note"]?.code, is: .referenceViolation, "a save of what goes with its target")
        },
    ]
}
