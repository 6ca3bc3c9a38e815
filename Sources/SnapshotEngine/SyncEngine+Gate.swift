package import CloudStore
package import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

extension SyncEngine {
    /// Returns the database and its settings for reading. If the cloud is missing or must not be used, every request to the context's cloud
    /// throws the reason.
    package func contextToLookAt(_ gate: GateReport) throws -> SyncContext {
        let settings = try database.read { try $0.settings.read() }
        guard gate.isOpen else {
            return try context(
                settings, .absent(SyncError(.refused, step: .open, at: database.path, gate.reason ?? "sync is off", hint: gate.hint)))
        }
        do {
            let (cloud, signedZone) = try openToLook(settings)
            var context = try context(settings, cloud)
            context.signedZone = signedZone
            return context
        } catch {
            return try context(settings, .absent(SyncError(error)))
        }
    }

    package func context(_ settings: SyncSettings, _ cloud: CloudDatabase) throws -> SyncContext {
        var context = SyncContext(database: database, settings: settings, cloud: cloud, now: now, logger: logger, assetRule: options.assetRule)
        context.assetLimit = try database.read { try $0.settings.operatorSettings().assetLimit }
        (context.nonces, context.elapsed) = (options.nonces, options.stopwatch())
        return context
    }
}
