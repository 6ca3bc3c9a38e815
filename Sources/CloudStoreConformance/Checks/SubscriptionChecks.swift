import CloudStore
import Synchronization

extension ConformanceCheck {
    /// Hints of changes by other devices.
    static let subscriptions: [ConformanceCheck] = [
        ConformanceCheck("othersChangesAreToldAndOnesOwnAreNot") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            try await zone.save(trial.item(0, name: "old"))
            let hints = try await zone.subscribe(RecordSubscription("all")) { false }
            try await zone.save(trial.item(1, name: "own"))
            var record = try await other.save(trial.item(1))
            record.fields["count"] = .integer(2)
            try await other.save(record)
            try await other.delete("old")
            var found: [RecordNotification] = []
            for await hint in hints { found.append(hint) }
            try trial.expect(found.map(\.kind), is: [.recordCreated, .recordUpdated, .recordDeleted], "what happened")
            try trial.expect(found.map(\.recordName), is: ["item", "item", "old"], "to which records")
            try trial.expect(found.allSatisfy { $0.subscription == "all" && $0.recordType == "Item" }, "the subscription and the type")
        },
        ConformanceCheck("subscriptionsChooseByTypeQueryAndEvent") { trial in
            let zone = try await trial.makeZone(), other = trial.device("other")
            try await zone.save(trial.item(0, name: "seed"))
            let large = RecordQuery("Item", where: .compare("count", .atLeast, .integer(10)))
            let subscriptions = [
                RecordSubscription("type", to: .type("Note")), RecordSubscription("query", to: .query(large)),
                RecordSubscription("gone", on: [.deletion]),
            ]
            var sources: [RecordNotifications] = []
            for subscription in subscriptions { sources.append(try await zone.subscribe(subscription) { false }) }
            try await other.modify(saving: [trial.item(5, name: "small"), trial.item(50, name: "large"), CloudRecord(type: "Note", name: "note", fields: [:])])
                .get()
            try await other.modify(saving: [], deleting: ["large", "small"]).get()
            var found: [[String?]] = []
            for source in sources {
                var names: [String?] = []
                for await hint in source { names.append(hint.recordName) }
                found.append(names)
            }
            try trial.expect(found, is: [["note"], ["large", "large"], ["large", "small"]], "the records that each was told of")
        },
        ConformanceCheck("aDeletedZoneIsToldAndEndsTheHints") { trial in
            let zone = try await trial.makeZone()
            try await zone.save(trial.item(1))
            let looks = Mutex(0)
            // A few checks suffice to see the deletion. Limit them, because a broken cloud would be checked for ever.
            let hints = try await trial.device("reader").subscribe(RecordSubscription("all")) {
                looks.withLock {
                    $0 += 1; return $0 < 10
                }
            }
            try await trial.cloud.deleteZone(ConformanceContext.zone, reason: .purged, by: "writer")
            var found: [RecordNotification.Kind] = []
            for await hint in hints { found.append(hint.kind) }
            try trial.expect(found, is: [.zoneDeleted(.purged)], "what was told")
        },
    ]
}
