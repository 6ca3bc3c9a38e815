import CloudStore
import RecordZones

extension ContractCheck {
    /// Hints of changes by other devices.
    static let subscriptions: [ContractCheck] = [
        ContractCheck("othersChangesAreToldAndOnesOwnAreNot") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            try await zone.save(test.item(0, name: "old"))
            let hints = try await zone.subscribe(RecordSubscription("all")) { false }
            try await zone.save(test.item(1, name: "own"))
            var record = try await other.save(test.item(1))
            record.fields["count"] = .integer(2)
            try await other.save(record)
            try await other.delete("old")
            var found: [RecordNotification] = []
            for await hint in hints { found.append(hint) }
            try test.expect(found.map(\.kind), is: [.recordCreated, .recordUpdated, .recordDeleted], "what happened")
            try test.expect(found.map(\.recordName), is: ["item", "item", "old"], "to which records")
            try test.expect(found.allSatisfy { $0.subscription == "all" && $0.recordType == "Item" }, "the subscription and the type")
        },
        ContractCheck("subscriptionsChooseByTypeQueryAndEvent") { test in
            let zone = try await test.makeZone(), other = test.device("other")
            try await zone.save(test.item(0, name: "seed"))
            let large = RecordQuery("Item", where: .compare("count", .atLeast, .integer(10)))
            let subscriptions = [
                RecordSubscription("type", to: .type("Note")), RecordSubscription("query", to: .query(large)),
                RecordSubscription("gone", on: [.deletion]),
            ]
            var sources: [RecordNotifications] = []
            for subscription in subscriptions { sources.append(try await zone.subscribe(subscription) { false }) }
            try await other.modify(saving: [test.item(5, name: "small"), test.item(50, name: "large"), CloudRecord(type: "Note", name: "note", fields: [:])])
                .get()
            try await other.modify(saving: [], deleting: ["large", "small"]).get()
            var found: [[String?]] = []
            for source in sources {
                var names: [String?] = []
                for await hint in source { names.append(hint.recordName) }
                found.append(names)
            }
            try test.expect(found, is: [["note"], ["large", "large"], ["large", "small"]], "the records that each was told of")
        },
    ]
}
