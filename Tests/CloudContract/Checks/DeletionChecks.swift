import CloudStore
import RecordZones

extension ContractCheck {
    /// Zones that are deleted, for each reason, and created again.
    static let deletion: [ContractCheck] = [
        ContractCheck("aDeletedZoneSaysWhyToEveryCall") { test in
            for (index, reason) in ZoneDeletion.Reason.allCases.enumerated() {
                let id = ZoneID("Zone\(index)"), zone = CloudZone(id, of: test.cloud, as: "writer")
                _ = try await test.cloud.createZone(id, creator: "writer", publishers: .many)
                try await zone.save(test.item(1))
                let token = try await test.cloud.records(in: id).token
                try await test.cloud.deleteZone(id, reason: reason, by: "writer")
                let calls: [@Sendable () async throws -> Void] = [
                    { _ = try await test.cloud.records(in: id) }, { _ = try await test.cloud.changes(since: token, in: id) },
                    { _ = try await test.cloud.changes(since: nil, in: id) }, { _ = try await zone.record("item") },
                    { _ = try await zone.modify(saving: [test.item(2)]) }, { _ = try await zone.changes(since: token) },
                    { try await test.cloud.deleteZone(id, by: "writer") },
                ]
                for call in calls {
                    let error = try await test.expect(.userDeletedZone, "a call after the deletion", call)
                    try test.expect(error.zoneDeletion?.reason, is: reason, "the reason")
                    try test.expect(error.zoneDeletion?.device, is: "writer", "the device")
                }
                let before = try await test.cloud.records(in: id, at: 1, notBefore: nil)
                try test.expect(before.records.map(\.name), is: ["item"], "a version from before")
                try test.expect(try await test.cloud.liveZones().isEmpty, "a deleted zone is listed as live")
            }
        },
        ContractCheck("aDeletedZoneStaysDeletedForATokenThatHasSeenIt") { test in
            try await test.makeZone(.one)
            _ = try await test.history(of: 2)
            try await test.cloud.deleteZone(ContractTest.zone, reason: .purged, by: "writer")
            let end = try await test.cloud.history(in: ContractTest.zone).last?.token
            try test.expect(end?.number, is: 3, "the number of the deletion")
            try await test.expect(.userDeletedZone, "a commit after the deletion") { try await test.publish([test.item(9)], after: end) }
        },
        ContractCheck("aZoneIsMadeAnewEmpty") { test in
            let zone = try await test.makeZone(), reader = test.device("reader")
            try await zone.save(test.item(1))
            let token = try await reader.changes(since: nil).token
            try await test.expect(.invalidArguments, "a zone that is there") { try await test.cloud.recreateZone(ContractTest.zone, by: "writer") }
            try await test.cloud.deleteZone(ContractTest.zone, by: "writer")
            try await test.cloud.recreateZone(ContractTest.zone, by: "writer")
            try test.expect(try await test.cloud.records(in: ContractTest.zone).records.isEmpty, "the zone made anew is not empty")
            try await zone.save(test.item(2, name: "new"))
            let changes = try await reader.changes(since: token)
            try test.expect(changes.isWhole && changes.changed.map(\.name) == ["new"], "what a device that was away is given")
            try test.expect(try await test.cloud.liveZones().map(\.id), is: [ContractTest.zone], "the live zones")
        },
        ContractCheck("aDeletionHoldsBehindCheckpoints") { test in
            let zone = try await test.makeZone()
            for number in 1...40 { try await zone.save(test.item(Int64(number)), savePolicy: .allKeys) }
            try await test.cloud.deleteZone(ContractTest.zone, reason: .encryptedDataReset, by: "writer")
            let error = try await test.expect(.userDeletedZone, "a first visit") { _ = try await test.cloud.changes(since: nil, in: ContractTest.zone) }
            try test.expect(error.zoneDeletion?.reason, is: .encryptedDataReset, "the reason")
        },
        ContractCheck("aZoneMadeAnewIsReadFromEveryCheckpoint") { test in
            for count in 13...18 {
                let id = ZoneID("Zone\(count)"), zone = CloudZone(id, of: test.cloud, as: "writer")
                _ = try await test.cloud.createZone(id, creator: "writer", publishers: .many)
                for number in 1...count { try await zone.save(test.item(Int64(number)), savePolicy: .allKeys) }
                try await test.cloud.deleteZone(id, by: "writer")
                try await test.cloud.recreateZone(id, by: "writer")
                for number in 1...3 { try await zone.save(test.item(Int64(number), name: "new\(number)")) }
                let names = try await CloudZone(id, of: test.cloud, as: "reader").changes(since: nil).changed.map(\.name)
                try test.expect(names, is: ["new1", "new2", "new3"], "the records after \(count) commits, a deletion and a new beginning")
            }
        },
        ContractCheck("onlyAPublisherDeletesAZone") { test in
            let zone = try await test.makeZone(.one)
            try await zone.save(test.item(1))
            try await test.expect(.notAuthorized, "another device") { try await test.cloud.deleteZone(ContractTest.zone, by: "other") }
            try test.expect(try await zone.record("item").fields["count"], is: .integer(1), "the record")
        },
    ]
}
