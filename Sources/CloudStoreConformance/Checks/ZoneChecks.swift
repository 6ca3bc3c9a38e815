import CloudStore
import StrictText

extension ConformanceCheck {
    /// Zones: made once, named by a grammar, missing ones told.
    static let zones: [ConformanceCheck] = [
        ConformanceCheck("theIdentityStaysTheSame") { trial in
            let identity = try await trial.cloud.identity()
            try trial.expect(try await trial.cloud.identity(), is: identity, "the identity")
            try trial.expect(identity.container.hasPrefix("iCloud."), "a container identifier begins with iCloud.")
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
            for name in ["", ".", "..", "../x", "a/b", "a b", "é", "a\u{0}b", "\u{1b}[2J", "'; DROP TABLE x", String(repeating: "x", count: 65)] {
                try await trial.expect(.invalidArguments, "a zone's name") {
                    _ = try await trial.cloud.createZone(ZoneID(name), creator: "writer", publishers: .one)
                }
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
        },
        ConformanceCheck("reportsAreKeptForEachDevice") { trial in
            try await trial.makeZone()
            let token = try await trial.publish([trial.item(1)], after: nil)
            for (device, role) in [("phone", "reader"), ("desk", "writer"), ("phone", "peer")] {
                try await trial.cloud.report(DeviceReport(device: device, role: role, token: token, clock: .now), in: ConformanceContext.zone)
            }
            let reports = try await trial.cloud.deviceReports(in: ConformanceContext.zone)
            try trial.expect(reports.map(\.device), is: ["desk", "phone"], "the devices")
            try trial.expect(reports.map(\.role), is: ["writer", "peer"], "their newest roles")
            try trial.expect(reports.allSatisfy { $0.token == token }, "a report's token is not the one that was given")
        },
    ]
}
