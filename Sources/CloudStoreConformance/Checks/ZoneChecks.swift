import CloudStore
import StrictText

extension ConformanceCheck {
    /// Zones: created once, with valid names only; missing ones are reported.
    static let zones: [ConformanceCheck] = [
        ConformanceCheck("theIdentityStaysTheSame") { trial in
            let identity = try await trial.cloud.identity()
            try trial.expect(try await trial.cloud.identity(), is: identity, "the identity")
            try trial.expect(identity.container.exact.hasPrefix("iCloud."), "a container identifier begins with iCloud.")
            try trial.expect(await trial.cloud.accountStatus(), is: .available, "the account status")
        },
        ConformanceCheck("aZoneIsMadeOnce") { trial in
            let made = try await trial.cloud.createZone(ConformanceContext.zone, creator: "writer", publishers: .one)
            let again = try await trial.cloud.createZone(ConformanceContext.zone, creator: "other", publishers: .many)
            try trial.expect(again, is: made, "the zone that is there")
            try trial.expect(try await trial.cloud.zone(ConformanceContext.zone), is: made, "the zone")
        },
        ConformanceCheck("zonesAreListedByScopeAndName") { trial in
            let ids = [ZoneID("b"), ZoneID("a", scope: .public), ZoneID("a")]
            for id in ids { _ = try await trial.cloud.createZone(id, creator: "writer", publishers: .one) }
            let listed = try await trial.cloud.zones().map(\.id)
            try trial.expect(listed, is: [ZoneID("a"), ZoneID("b"), ZoneID("a", scope: .public)], "the zones")
            try trial.expect(listed.map(\.description), is: ["private/a", "private/b", "public/a"], "the zones' names")
        },
        ConformanceCheck("zonesShareNothing") { trial in
            let other = ZoneID(ConformanceContext.zone.name, scope: .public)
            try await trial.makeZone()
            _ = try await trial.cloud.createZone(other, creator: "writer", publishers: .many)
            try await trial.publish([trial.item(1)], after: nil)
            try trial.expect(try await trial.cloud.records(in: other).records.isEmpty, "a record has come to another zone")
        },
        ConformanceCheck("aMissingZoneIsToldByEveryCall") { trial in
            let cloud = trial.cloud, zone = ConformanceContext.zone
            try await trial.expect(.zoneNotFound, "zone") { _ = try await cloud.zone(zone) }
            try await trial.expect(.zoneNotFound, "changes") { _ = try await cloud.changes(since: nil, in: zone) }
            try await trial.expect(.zoneNotFound, "records") { _ = try await cloud.records(in: zone) }
            try await trial.expect(.zoneNotFound, "history") { _ = try await cloud.history(in: zone) }
            try await trial.expect(.zoneNotFound, "prepare") { try await trial.publish([trial.item(1)], after: nil) }
            try await trial.expect(.zoneNotFound, "modify") { _ = try await trial.device("writer").modify(saving: [trial.item(1)]) }
            try await trial.expect(.zoneNotFound, "delete") { try await cloud.deleteZone(zone, by: "writer") }
        },
        ConformanceCheck("namesOutsideTheGrammarAreRefused") { trial in
            let zone = try await trial.makeZone()
            for name in badNames {
                try await trial.expect(.invalidArguments, "a zone's name") {
                    _ = try await trial.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
                }
                try await trial.expect(.invalidArguments, "a zone's name") { _ = try await trial.cloud.changes(since: nil, in: ZoneID(name)) }
                try await trial.expect(.invalidArguments, "a creator's name") {
                    _ = try await trial.cloud.createZone(ZoneID("Z"), creator: name, publishers: .one)
                }
                try await trial.expect(.invalidArguments, "an asset's record") {
                    _ = try await trial.cloud.newAsset(for: name, number: 1, kind: .snapshot, in: ConformanceContext.zone)
                }
                try await trial.expect(.invalidArguments, "a device's name") { try await trial.publish([trial.item(1)], after: nil, by: name) }
                try await trial.expect(.invalidArguments, "a deleted record's name") { try await trial.publish([], deleting: [name], after: nil) }
                let records = [
                    trial.item(1, name: name), CloudRecord(type: name, name: "item", fields: [:]),
                    CloudRecord(type: "Item", name: "item", fields: [name: .boolean(true)]),
                    CloudRecord(type: "Item", name: "item", fields: ["to": .reference(RecordReference(to: name))]),
                ]
                for record in records {
                    try await trial.expect(.invalidArguments, "a name in a commit") { try await trial.publish([record], after: nil) }
                    let error = try await trial.expect(.invalidArguments, "a name in a save") { try await zone.save(record) }
                    try trial.expect(name.count < 4 || !error.description.contains(name), "an error repeats a name that may hold anything")
                }
            }
            try trial.expect(try await trial.cloud.records(in: ConformanceContext.zone).token == nil, "a refused commit was published")
            for name in ["a", "A-b_c.d", "0", String(repeating: "x", count: 64), "buckets_data"] {
                _ = try await trial.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
            }
        },
        ConformanceCheck("errorsRepeatNoNameAndNoValue") { trial in
            try await trial.makeZone(.one)
            let error = try await trial.expect(.invalidArguments, "an impossible value under a bad name") {
                try await trial.publish([CloudRecord(type: "Item", name: "\u{1b}[31msecret", fields: ["f": .double(.nan)])], after: nil)
            }
            try trial.expect(!error.description.contains("secret"), "an error repeats a name that may hold anything")
        },
        ConformanceCheck("aNewZoneIsEmpty") { trial in
            try await trial.expect(.zoneNotFound, "zone") { _ = try await trial.cloud.zone(ConformanceContext.zone) }
            try await trial.expect(.zoneNotFound, "changes") { _ = try await trial.changes(since: nil) }
            let made = try await trial.cloud.createZone(ConformanceContext.zone, creator: "writer", publishers: .one)
            try trial.expect(
                made.creator == "writer" && made.publishers == .one && made.features.isEmpty && made.formatVersion == 1, "the description: \(made)")
            let changes = try await trial.changes(since: nil)
            try trial.expect(changes.base.isEmpty && changes.commits.isEmpty && changes.token == nil, "a new zone has changes")
            let state = try await trial.state()
            try trial.expect(state.records.isEmpty && state.token == nil && state.timestamp == nil, "a new zone has records")
        },
    ]

    /// Names that the grammar does not allow.
    static let badNames = [
        "", ".", "..", ".hidden", "../x", "a/b", "a b", "é", "a\u{0}", "a\u{0}b", "\u{1b}[2J", "'; DROP TABLE x", String(repeating: "x", count: 65),
    ]
}
