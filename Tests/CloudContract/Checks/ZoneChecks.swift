import CloudStore
import RecordZones
import StrictText

extension ContractCheck {
    /// Zones: created once, with valid names only; missing ones are reported.
    static let zones: [ContractCheck] = [
        ContractCheck("theIdentityStaysTheSame") { test in
            let identity = try await test.cloud.identity()
            try test.expect(try await test.cloud.identity(), is: identity, "the identity")
            try test.expect(identity.container.exact.hasPrefix("iCloud."), "a container identifier begins with iCloud.")
            try test.expect(await test.cloud.accountStatus(), is: .available, "the account status")
        },
        ContractCheck("aZoneIsMadeOnce") { test in
            let made = try await test.cloud.createZone(ContractTest.zone, creator: "writer", publishers: .one)
            let again = try await test.cloud.createZone(ContractTest.zone, creator: "other", publishers: .many)
            try test.expect(again, is: made, "the zone that is there")
            try test.expect(try await test.cloud.zone(ContractTest.zone), is: made, "the zone")
        },
        ContractCheck("zonesAreListedByScopeAndName") { test in
            let ids = [ZoneID("b"), ZoneID("a", scope: .public), ZoneID("a")]
            for id in ids { _ = try await test.cloud.createZone(id, creator: "writer", publishers: .one) }
            let listed = try await test.cloud.zones().map(\.id)
            try test.expect(listed, is: [ZoneID("a"), ZoneID("b"), ZoneID("a", scope: .public)], "the zones")
            try test.expect(listed.map(\.description), is: ["private/a", "private/b", "public/a"], "the zones' names")
        },
        ContractCheck("zonesShareNothing") { test in
            let other = ZoneID(ContractTest.zone.name, scope: .public)
            try await test.makeZone()
            _ = try await test.cloud.createZone(other, creator: "writer", publishers: .many)
            try await test.publish([test.item(1)], after: nil)
            try test.expect(try await test.cloud.records(in: other).records.isEmpty, "a record has come to another zone")
        },
        ContractCheck("aMissingZoneIsToldByEveryCall") { test in
            let cloud = test.cloud, zone = ContractTest.zone
            try await test.expect(.zoneNotFound, "zone") { _ = try await cloud.zone(zone) }
            try await test.expect(.zoneNotFound, "changes") { _ = try await cloud.changes(since: nil, in: zone) }
            try await test.expect(.zoneNotFound, "records") { _ = try await cloud.records(in: zone) }
            try await test.expect(.zoneNotFound, "history") { _ = try await cloud.history(in: zone) }
            try await test.expect(.zoneNotFound, "prepare") { try await test.publish([test.item(1)], after: nil) }
            try await test.expect(.zoneNotFound, "modify") { _ = try await test.device("writer").modify(saving: [test.item(1)]) }
        },
        ContractCheck("namesOutsideTheGrammarAreRefused") { test in
            let zone = try await test.makeZone()
            for name in badNames {
                try await test.expect(.invalidArguments, "a zone's name") {
                    _ = try await test.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
                }
                try await test.expect(.invalidArguments, "a zone's name") { _ = try await test.cloud.changes(since: nil, in: ZoneID(name)) }
                try await test.expect(.invalidArguments, "a creator's name") {
                    _ = try await test.cloud.createZone(ZoneID("Z"), creator: name, publishers: .one)
                }
                try await test.expect(.invalidArguments, "an asset's record") {
                    _ = try await test.cloud.newAsset(for: name, number: 1, kind: .snapshot, in: ContractTest.zone)
                }
                try await test.expect(.invalidArguments, "a device's name") { try await test.publish([test.item(1)], after: nil, by: name) }
                try await test.expect(.invalidArguments, "a device's name") { try await test.cloud.forgetDevice(name, in: ContractTest.zone) }
                try await test.expect(.invalidArguments, "a deleted record's name") { try await test.publish([], deleting: [name], after: nil) }
                let records = [
                    test.item(1, name: name), CloudRecord(type: name, name: "item", fields: [:]),
                    CloudRecord(type: "Item", name: "item", fields: [name: .boolean(true)]),
                    CloudRecord(type: "Item", name: "item", fields: ["to": .reference(RecordReference(to: name))]),
                ]
                for record in records {
                    try await test.expect(.invalidArguments, "a name in a commit") { try await test.publish([record], after: nil) }
                    let error = try await test.expect(.invalidArguments, "a name in a save") { try await zone.save(record) }
                    try test.expect(name.count < 4 || !error.description.contains(name), "an error repeats a name that may hold anything")
                }
            }
            try test.expect(try await test.cloud.records(in: ContractTest.zone).token == nil, "a refused commit was published")
            for name in ["a", "A-b_c.d", "0", String(repeating: "x", count: 64), "buckets_data"] {
                _ = try await test.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
            }
        },
        ContractCheck("errorsRepeatNoNameAndNoValue") { test in
            try await test.makeZone(.one)
            let error = try await test.expect(.invalidArguments, "an impossible value under a bad name") {
                try await test.publish([CloudRecord(type: "Item", name: "\u{1b}[31msecret", fields: ["f": .double(.nan)])], after: nil)
            }
            try test.expect(!error.description.contains("secret"), "an error repeats a name that may hold anything")
        },
        ContractCheck("aNewZoneIsEmpty") { test in
            let made = try await test.cloud.createZone(ContractTest.zone, creator: "writer", publishers: .one)
            try test.expect(
                made.creator == "writer" && made.publishers == .one && made.features.isEmpty && made.formatVersion == 1, "the description: \(made)")
            let changes = try await test.changes(since: nil)
            try test.expect(changes.base.isEmpty && changes.commits.isEmpty && changes.token == nil, "a new zone has changes")
            let state = try await test.state()
            try test.expect(state.records.isEmpty && state.token == nil && state.timestamp == nil, "a new zone has records")
        },
    ]

    /// Names that the grammar does not allow.
    static let badNames = [
        "", ".", "..", ".hidden", "../x", "a/b", "a b", "é", "a\u{0}", "a\u{0}b", "\u{1b}[2J", "'; DROP TABLE x", String(repeating: "x", count: 65),
    ]
}
