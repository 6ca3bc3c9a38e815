import CloudStore

extension ConformanceCheck {
    /// Zones that are deleted, for each reason, and created again.
    static let deletion: [ConformanceCheck] = [
        ConformanceCheck("aDeletedZoneSaysWhyToEveryCall") { trial in
            for (index, reason) in ZoneDeletion.Reason.allCases.enumerated() {
                let id = ZoneID("Zone\(index)"), zone = CloudZone(id, of: trial.cloud, as: "writer")
                _ = try await trial.cloud.createZone(id, creator: "writer", publishers: .many)
                try await zone.save(trial.item(1))
                let token = try await trial.cloud.records(in: id).token
                try await trial.cloud.deleteZone(id, reason: reason, by: "writer")
                let calls: [@Sendable () async throws -> Void] = [
                    { _ = try await trial.cloud.records(in: id) }, { _ = try await trial.cloud.changes(since: token, in: id) },
                    { _ = try await trial.cloud.changes(since: nil, in: id) }, { _ = try await zone.record("item") },
                    { _ = try await zone.modify(saving: [trial.item(2)]) }, { _ = try await zone.changes(since: token) },
                    { try await trial.cloud.deleteZone(id, by: "writer") },
                ]
                for call in calls {
                    let error = try await trial.expect(.userDeletedZone, "a call after the deletion", call)
                    try trial.expect(error.zoneDeletion?.reason, is: reason, "the reason")
                    try trial.expect(error.zoneDeletion?.device, is: "writer", "the device")
                }
                let before = try await trial.cloud.records(in: id, at: 1, notBefore: nil)
                try trial.expect(before.records.map(\.name), is: ["item"], "a version from before")
                try trial.expect(try await trial.cloud.liveZones().isEmpty, "a deleted zone is listed as live")
            }
        },
        ConformanceCheck("aDeletedZoneStaysDeletedForATokenThatHasSeenIt") { trial in
            try await trial.makeZone(.one)
            _ = try await trial.history(of: 2)
            try await trial.cloud.deleteZone(ConformanceContext.zone, reason: .purged, by: "writer")
            let end = try await trial.cloud.history(in: ConformanceContext.zone).last?.token
            try trial.expect(end?.number, is: 3, "the number of the deletion")
            for _ in 1...3 { try await trial.expect(.userDeletedZone, "changes since the deletion") { _ = try await trial.changes(since: end) } }
            try await trial.expect(.userDeletedZone, "a commit after the deletion") { try await trial.publish([trial.item(9)], after: end) }
        },
        ConformanceCheck("aZoneIsMadeAnewEmpty") { trial in
            let zone = try await trial.makeZone(), reader = trial.device("reader")
            try await zone.save(trial.item(1))
            let token = try await reader.changes(since: nil).token
            try await trial.expect(.invalidArguments, "a zone that is there") { try await trial.cloud.recreateZone(ConformanceContext.zone, by: "writer") }
            try await trial.cloud.deleteZone(ConformanceContext.zone, by: "writer")
            try await trial.cloud.recreateZone(ConformanceContext.zone, by: "writer")
            try trial.expect(try await trial.cloud.records(in: ConformanceContext.zone).records.isEmpty, "the zone made anew is not empty")
            try await zone.save(trial.item(2, name: "new"))
            let changes = try await reader.changes(since: token)
            try trial.expect(changes.isWhole && changes.changed.map(\.name) == ["new"], "what a device that was away is given")
            try trial.expect(try await trial.cloud.liveZones().map(\.id), is: [ConformanceContext.zone], "the live zones")
        },
        ConformanceCheck("aDeletionHoldsBehindCheckpoints") { trial in
            let zone = try await trial.makeZone()
            for number in 1...40 { try await zone.save(trial.item(Int64(number)), savePolicy: .allKeys) }
            try await trial.cloud.deleteZone(ConformanceContext.zone, reason: .encryptedDataReset, by: "writer")
            let error = try await trial.expect(.userDeletedZone, "a first visit") { _ = try await trial.cloud.changes(since: nil, in: ConformanceContext.zone) }
            try trial.expect(error.zoneDeletion?.reason, is: .encryptedDataReset, "the reason")
        },
        ConformanceCheck("aZoneMadeAnewIsReadFromEveryCheckpoint") { trial in
            for count in 13...18 {
                let id = ZoneID("Zone\(count)"), zone = CloudZone(id, of: trial.cloud, as: "writer")
                _ = try await trial.cloud.createZone(id, creator: "writer", publishers: .many)
                for number in 1...count { try await zone.save(trial.item(Int64(number)), savePolicy: .allKeys) }
                try await trial.cloud.deleteZone(id, by: "writer")
                try await trial.cloud.recreateZone(id, by: "writer")
                for number in 1...3 { try await zone.save(trial.item(Int64(number), name: "new\(number)")) }
                let names = try await CloudZone(id, of: trial.cloud, as: "reader").changes(since: nil).changed.map(\.name)
                try trial.expect(names, is: ["new1", "new2", "new3"], "the records after \(count) commits, a deletion and a new beginning")
            }
        },
        ConformanceCheck("onlyAPublisherDeletesAZone") { trial in
            let zone = try await trial.makeZone(.one)
            try await zone.save(trial.item(1))
            try await trial.expect(.notAuthorized, "another device") { try await trial.cloud.deleteZone(ConformanceContext.zone, by: "other") }
            try trial.expect(try await zone.record("item").fields["count"], is: .integer(1), "the record")
        },
    ]
}
