package import CloudStore
package import LocalStore
import Logging
import SnapshotModel
import SnapshotVersions
package import StrictText

/// One database, its settings, and the cloud that they name, opened and checked.
package struct SyncContext: Sendable {
    package let database: LocalDatabase
    package var settings: SyncSettings
    package let cloud: any CloudDatabase
    package let zone: ZoneID
    package let now: @Sendable () -> Instant
    let logger: Logger
    let assetRule: AssetRule
    /// The nonce of this device's last report in the cloud, once it was looked at (``DeviceIdentity``).
    package var reportSeen: String?
    /// What makes the zone a signed one; nil if it is none.
    package var signedZone: SignedZone?
    /// What was found and done before the run began, in words, for its report.
    var notices: [String] = []
    /// How large an asset may be, in bytes.
    var assetLimit = OperatorSettings.standardAssetLimit
    /// Where the ids of messages and reports come from.
    var nonces = NonceSource.system
    /// What is known of the zone, which no run changes: it is read once.
    private let zoneOnce = OnceValue<ZoneInfo>()
    /// How long the run has taken so far.
    var elapsed = SyncContext.stopwatch()

    /// Starts measuring time by the machine's own clock, which nobody sets.
    package static func stopwatch() -> @Sendable () -> Duration {
        let begin = ContinuousClock.now
        return { ContinuousClock.now - begin }
    }

    /// Whether this device may publish in the zone.
    ///
    /// - Throws: ``SyncError`` with `.refused` if another device is the one that does.
    func checkPublisher() async throws {
        let info = try await zoneInfo()
        guard info.publishers == .many || info.creator == settings.device else {
            throw SyncError(
                .refused, step: .announce, at: "zone \(zone)", "its one publisher is the device \(info.creator), not \(settings.device)",
                hint:
                    "publish from that device, or join another zone; if this database is to be \(info.creator) from now on: snapsync init --take-over --db \(database.path)"
            )
        }
    }

    /// Whether this device publishes in a zone in which others do, too.
    package func isOneOfMany() async throws -> Bool {
        guard settings.role.publishes else { return false }
        return try await zoneInfo().publishers == .many
    }

    /// Who made the zone and who may publish there; read at the first call.
    func zoneInfo(at step: SyncStep = .open) async throws -> ZoneInfo {
        try await zoneOnce.value { try await cloud.at(step).zone(zone) }
    }

    /// Sees that changes of the datasets are noted, and mends that where an application's migration has undone it.
    ///
    /// - Returns: a sentence for each dataset whose tracking was not as it should be.
    package func keepTracking() throws -> [String] {
        let isTracking = try database.read(at: .read) { transaction in
            // A table that is missing or does not fit is the user's to mend, before anything is changed.
            for schema in settings.datasets { _ = try transaction.tables.check(of: schema) }
            return try transaction.tracking.isInstalled(settings.datasets)
        }
        if isTracking { return [] }
        return try database.write(at: .read) { try $0.tracking.install(settings.datasets) }.map {
            "the tracking of \($0) was not as it should be (a migration may have rebuilt the table) and was put in again; all rows were compared"
        }
    }

    /// Tells the zone what this device has; a failure costs others a figure, so it is only logged.
    package func report(_ token: ChangeToken?) async {
        do {
            try await cloud.report(
                DeviceReport(device: settings.device, role: settings.role.rawValue, token: token, clock: now(), nonce: try nextNonce()), in: zone)
        } catch {
            logger.warning("the device's report was not written", metadata: ["error": "\(error)"])
        }
    }
}
