import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncEngine {
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
    public func takeOver(as name: String? = nil, relocatingTo path: String? = nil) async throws -> SetupReport {
        try await locked {
            var device = try device()
            let info = try await device.zoneInfo()
            let mustBe = device.settings.role.publishes && info.publishers == .one ? info.creator : nil
            let name = name ?? mustBe ?? device.settings.device
            guard mustBe == nil || name == mustBe else {
                throw SyncError(
                    .refused, step: .open, at: "zone \(device.zone)", "its one publisher is the device \(info.creator), and this database is to be \(name)",
                    hint: "leave out --device, or give --device \(info.creator)")
            }
            let report = try await device.cloud.at(.open) { try await $0.deviceReport(of: name, in: device.zone) }
            let newest = try await device.cloud.at(.open) { try await $0.records(in: device.zone) }.token
            if let path { device.settings.cloud = try await Self.verifyPlace(path, for: device.settings, database, keyStore) }
            let cloud = device.settings.cloud
            try device.database.write(at: .open) { transaction in
                try transaction.settings.setDevice(name)
                if path != nil { try transaction.settings.setCloud(cloud) }
                try transaction.recordTakeOver(seen: report?.nonce, newest: newest?.number ?? 0)
            }
            device.settings.device = name
            device.reportSeen = report?.nonce
            await device.report(try device.database.read(at: .read) { try $0.state.applied()?.token })
            let settings = device.settings
            let preference = try database.read(at: .read) { try $0.settings.preference().choice }
            return SetupReport(
                database: database.path, cloud: settings.cloud, cloudUUID: settings.cloudUUID, zone: settings.zone, role: settings.role.rawValue,
                device: name, datasets: settings.datasets.map(\.name), tablesMade: [], journalMode: try SyncError.at(.open) { try database.journalMode() },
                cloudMade: false, isEnabled: preference == .on, preference: preference.rawValue,
                triggers: try SyncError.at(.read) { try TriggerSurvey(database, settings.datasets) }.triggers.map {
                    TriggerReport($0, datasets: settings.datasets)
                })
        }
    }
}

extension LocalTransaction {
    /// Records that this database owns the device's name from now on, whatever was reported and published under it before.
    ///
    /// - Parameters:
    ///   - seen: the nonce of the last report under the name.
    ///   - newest: the zone's newest commit. Commits up to it in the device's name are no sign of a copy. 0 lets this database publish first.
    func recordTakeOver(seen: String?, newest: Int) throws {
        try state.setReportNonces(ReportNonces(seen: seen, next: UUID().uuidString.lowercased()))
        try state.setOwnCommitsKnown(newest)
        if newest == 0 { try state.setBootstrapNote(BootstrapNote(madeZone: true)) }
    }
}
