import CloudStore
import Foundation
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The result of `device rename`.
package struct DeviceRenameReport: Sendable, Encodable {
    package let database: String
    package let zone: String
    /// The device's previous name.
    package let previousDevice: String
    package let device: String
    /// Warnings, one sentence each.
    package let warnings: [String]
}

/// The result of `device forget`.
package struct DeviceForgetReport: Sendable, Encodable {
    package let zone: String
    /// The name that was removed.
    package let device: String
    /// The version that the device had reported; nil if there was none.
    package let version: Int?
}

extension SyncEngine {
    /// The device that this database is, and the others of the zone.
    package var devices: SyncDevices { SyncDevices(engine: self) }
}

/// The device that a database is, and the others of the zone: `engine.devices`.
package struct SyncDevices {
    let engine: SyncEngine

    /// Gives this device another name in its zone. Its tracked changes and unanswered messages stay.
    ///
    /// - Throws: ``SyncError`` with `.refused` if another device has the name, or if this device is the zone's one publisher, whose name is part
    ///   of the zone.
    package func rename(to name: String) async throws -> DeviceRenameReport {
        try await engine.locked {
            var context = try engine.context()
            let previous = context.settings.device
            try CloudNames.verify(name, isNameOf: "device")
            guard name != previous else { throw SyncError(.refused, step: .open, at: engine.database.path, "the device has this name already") }
            let info = try await context.zoneInfo()
            guard !info.isSigned else {
                throw SyncError(
                    .refused, step: .open, at: context.zone.place, "the zone is signed, and \(previous) is approved under this name",
                    hint: "detach the database, set it up under the other name, and have it approved: snapsync zone approve \(name)")
            }
            guard info.publishers == .many || info.creator != previous else {
                throw SyncError(
                    .refused, step: .open, at: context.zone.place, "\(previous) is its one publisher, and the zone keeps that name",
                    hint: "readers and peers can take another name")
            }
            if let report = try await context.cloud.deviceReport(of: name, in: context.zone) {
                throw SyncError(
                    .refused, step: .open, at: context.zone.place, "a \(report.role) has synced as \(name) before, at \(report.clock)",
                    hint: "choose another name; if that device is gone for good, run first: snapsync device forget \(engine.database.path.shellWord) \(name)")
            }
            let newest = try await context.cloud.records(in: context.zone).token?.number ?? 0
            try context.database.write { transaction in
                try transaction.settings.device.set(name)
                try transaction.state.reportNonces.set(nil)
                try transaction.state.ownCommitsKnown.set(newest)
            }
            context.settings.device = name
            context.reportSeen = nil
            await context.report(try context.database.read { try $0.state.applied()?.token })
            var warnings: [String] = []
            do {
                try await context.cloud.forgetDevice(previous, in: context.zone)
            } catch {
                warnings.append("the zone still lists \(previous): \(SyncError(error, step: .announce).reason)")
            }
            return DeviceRenameReport(
                database: engine.database.path, zone: context.settings.zone, previousDevice: previous, device: name, warnings: warnings)
        }
    }

    /// Removes a device that is gone for good from the zone's list. If it syncs again, it is listed again.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the zone has no such device, `.refused` for this device and for the zone's one publisher.
    package func forget(_ name: String) async throws -> DeviceForgetReport {
        try await engine.locked {
            let context = try engine.context()
            guard name != context.settings.device else {
                throw SyncError(
                    .refused, step: .open, at: engine.database.path, "this database is the device \(name)",
                    hint: "snapsync detach takes it out of the zone; then forget it from another device")
            }
            let info = try await context.zoneInfo()
            guard info.publishers == .many || info.creator != name else {
                throw SyncError(
                    .refused, step: .open, at: context.zone.place, "\(name) is its one publisher",
                    hint: "if its database is lost, another one takes its place: snapsync device claim")
            }
            guard let report = try await context.cloud.deviceReport(of: name, in: context.zone) else {
                throw SyncError(
                    .nothingThere, step: .open, at: context.zone.place, "no device has reported as \(name)", hint: "snapsync status --all lists them")
            }
            try await context.cloud.forgetDevice(name, in: context.zone)
            return DeviceForgetReport(zone: context.settings.zone, device: name, version: report.token?.number)
        }
    }
}

/// The result of `relocate`.
package struct RelocationReport: Sendable, Encodable {
    package let database: String
    package let zone: String
    /// The path of the cloud directory until now.
    package let previousCloud: String
    /// The new path.
    package let cloud: String
    package let cloudUUID: String
}

extension SyncDevices {
    /// Stores another path of the cloud directory for all later runs, after the directory was moved or mounted elsewhere.
    ///
    /// Nothing is imported or published.
    ///
    /// - Parameter path: a directory or a bucket (`s3://BUCKET/PREFIX`) with the same cloud, whose zone has the applied version.
    /// - Throws: ``SyncError``; with `.refused` for another cloud, or, at a peer, for a replicated folder or a store without conditional writes;
    ///   with `.dataRefused` for an older copy of the zone.
    package func relocate(to path: String) async throws -> RelocationReport {
        try await engine.locked {
            guard engine.backend == nil else {
                throw SyncError(
                    .refused, step: .open, at: path,
                    "only a directory or a bucket has a path; this database was opened with a backend of the application's own",
                    hint: "open the database without a backend")
            }
            try engine.gate.verify()
            let settings = try engine.database.read { try $0.settings.read() }
            let place = try await Self.verifyPlace(path, for: settings, in: engine.database, keyStore: engine.keyStore)
            try engine.database.write { try $0.settings.cloud.set(place) }
            return RelocationReport(
                database: engine.database.path, zone: settings.zone, previousCloud: settings.cloud, cloud: place, cloudUUID: settings.cloudUUID)
        }
    }

    /// Checks that a directory or bucket has the cloud and the history of a database. Returns the text for the settings.
    static func verifyPlace(_ path: String, for settings: SyncSettings, in database: LocalDatabase, keyStore: any KeyStore) async throws -> String {
        let (applied, isReplicated) = try database.read { (try $0.state.applied(), try $0.settings.operatorSettings().isReplicated) }
        let cloud = try CloudLocation.open(path, expecting: settings.cloudUUID, container: settings.container)
        let known = try database.read { try $0.state.zoneKnowledge() }
        _ = try SignedZone(of: settings, knowing: known, keyStore, in: cloud)
        let place = CloudLocation.canonical(path, cloud)
        if settings.role == .peer, !CloudLocation.isBucket(place) { try ReplicatedFolder.refuse(place, isSaid: isReplicated) }
        do {
            _ = try await cloud.changes(since: applied?.token, in: settings.zoneID)
        } catch let error as CloudError where error.code == .changeTokenExpired {
            // The applied version was pruned; the zone continues from it.
        }
        if settings.role == .peer { _ = try await BucketTrial.run(in: cloud, for: settings.role, at: place) }
        return place
    }
}

extension SyncDevices {
    /// Gives this database, which is set up already, the name of a device, whichever database had it before. Use it after a database was lost or
    /// copied.
    ///
    /// If another database still uses the name, it notices at its next sync and takes another name. Nothing is published; a publisher imports
    /// first.
    ///
    /// - Parameters:
    ///   - name: the device's name. If nil: the zone's publisher, if the zone has only one and this device publishes; else the device's current
    ///     name.
    ///   - path: the new path of the cloud directory, which must be the directory that this engine was opened with; nil keeps the stored path
    ///     (``relocate(to:)``).
    package func takeOver(as name: String? = nil, relocatingTo path: String? = nil) async throws -> SetupReport {
        try await engine.locked {
            var context = try engine.context()
            let info = try await context.zoneInfo()
            let mustBe = context.settings.role.publishes && info.publishers == .one ? info.creator : nil
            let name = name ?? mustBe ?? context.settings.device
            guard mustBe == nil || name == mustBe else {
                throw SyncError(
                    .refused, step: .open, at: context.zone.place, "its one publisher is the device \(info.creator), and this database is to be \(name)",
                    hint: "leave out --name, or give --name \(info.creator)")
            }
            let report = try await context.cloud.deviceReport(of: name, in: context.zone)
            let newest = try await context.cloud.records(in: context.zone).token
            if let path { context.settings.cloud = try await Self.verifyPlace(path, for: context.settings, in: engine.database, keyStore: engine.keyStore) }
            let cloud = context.settings.cloud
            try context.database.write { transaction in
                try transaction.settings.device.set(name)
                if path != nil { try transaction.settings.cloud.set(cloud) }
                try transaction.recordTakeOver(seen: report?.nonce, newest: newest?.number ?? 0)
            }
            context.settings.device = name
            context.reportSeen = report?.nonce
            await context.report(try context.database.read { try $0.state.applied()?.token })
            return try SetupReport(engine.database, path: engine.database.path)
        }
    }
}
