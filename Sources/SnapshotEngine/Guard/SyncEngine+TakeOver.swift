import CloudStore
import Foundation
import LocalStore
import SnapshotModel
import SnapshotVersions
import StrictText

extension SyncEngine {
    /// Makes this database, which is set up, the device of a name, whoever had it before: after a lost or copied database.
    ///
    /// The database that had the name notices at its next sync and takes another. Nothing is published; a publisher imports first.
    ///
    /// - Parameters:
    ///   - name: the device's name; nil means the zone's publisher, if it has only one and this one publishes, else the name that the device has.
    ///   - path: where the cloud directory is from now on, which must be the one that this engine was opened with; nil leaves the stored path
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
            let report = try await device.cloud.at(.open).deviceReport(of: name, in: device.zone)
            let newest = try await device.cloud.at(.open).records(in: device.zone).token
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
                triggers: try SyncError.at(.read) { try TriggerSurvey(path: database.path, settings.datasets) }.triggers.map {
                    TriggerReport($0, datasets: settings.datasets)
                })
        }
    }
}

extension LocalTransaction {
    /// Notes that the device's name is this database's from now on, whatever was reported and published under it.
    ///
    /// - Parameters:
    ///   - seen: the nonce of the last report under the name.
    ///   - newest: the zone's newest commit; those up to it in the device's name are no news. 0 opens the latch.
    func recordTakeOver(seen: String?, newest: Int) throws {
        try state.setReportNonces(ReportNonces(seen: seen, next: UUID().uuidString.lowercased()))
        try state.setOwnCommitsKnown(newest)
        if newest == 0 { try state.setBootstrapNote(BootstrapNote(madeZone: true)) }
    }
}
