package import CloudStore
package import LocalStore
import SnapshotVersions

extension SyncEngine {
    /// Returns the database and its settings for reading. If the cloud is missing or must not be used, every request to the context's cloud
    /// throws the reason.
    package func deviceToLookAt(_ gate: GateReport) throws -> SyncContext {
        let settings = try database.read(at: .open) { try $0.settings.read() }
        guard gate.isOpen else {
            return try device(
                settings, .absent(SyncError(.refused, step: .open, at: database.path, gate.reason ?? "sync is off", hint: gate.hint)))
        }
        do {
            let (cloud, signedZone) = try openToLook(settings)
            var device = try device(settings, cloud)
            device.signedZone = signedZone
            return device
        } catch {
            return try device(settings, .absent(SyncError(error, step: .open)))
        }
    }

    /// Returns the database and its settings for work that needs no cloud.
    package func localDevice() throws -> SyncContext {
        let settings = try database.read(at: .open) { try $0.settings.read() }
        return try device(settings, .absent(SyncError(.refused, step: .open, at: database.path, "this work does without the cloud")))
    }

    package func device(_ settings: SyncSettings, _ cloud: CloudDatabase) throws -> SyncContext {
        let assetLimit = try database.read { try $0.settings.operatorSettings().assetLimit }
        let zone = settings.zoneID
        return SyncContext(
            database: database, settings: settings, cloud: cloud, zone: zone, now: now, logger: logger, assetRule: assetRule, assetLimit: assetLimit,
            nonces: nonces, elapsed: stopwatch())
    }
}
