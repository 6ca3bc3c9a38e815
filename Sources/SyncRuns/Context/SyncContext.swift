package import CloudStore
import LocalStore
package import LocalTables
package import Logging
import SnapshotModel
import SnapshotVersions
package import StrictText
import Synchronization

/// One database, its settings, and the cloud that they name, opened and checked.
package struct SyncContext: Sendable {
    package let database: LocalDatabase
    package var settings: SyncSettings
    package let cloud: CloudDatabase
    package let zone: ZoneID
    package let now: @Sendable () -> Instant
    let logger: Logger
    let assetRule: AssetRule
    /// The nonce of this device's last report in the cloud, once a run has read it (``DeviceIdentity``).
    package var reportSeen: String?
    /// The keys and knowledge of a signed zone; nil if the zone is not signed.
    package var signedZone: SignedZone?
    /// Sentences for the run's report about what happened before the run began.
    package var notices: [String] = []
    /// How large an asset may be, in bytes.
    package var assetLimit = OperatorSettings.standardAssetLimit
    /// The source of the ids of messages and reports.
    package var nonces = NonceSource.system
    /// The zone's description. No run changes it, so a context reads it once.
    private let zoneOnce = OnceValue<ZoneInfo>()
    /// How long the run has taken so far.
    package var elapsed = SyncContext.stopwatch()

    package init(
        database: LocalDatabase, settings: SyncSettings, cloud: CloudDatabase, now: @escaping @Sendable () -> Instant, logger: Logger, assetRule: AssetRule
    ) {
        (self.database, self.settings, self.cloud, self.now, self.logger, self.assetRule) = (database, settings, cloud, now, logger, assetRule)
        zone = settings.zoneID
    }

    /// Starts a stopwatch on the machine's monotonic clock, which nobody can set.
    package static func stopwatch() -> @Sendable () -> Duration {
        let begin = ContinuousClock.now
        return { ContinuousClock.now - begin }
    }

    /// Whether this device may publish in the zone.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the zone's one publisher is another device.
    func checkPublisher() async throws {
        let info = try await zoneInfo()
        guard info.publishers == .many || info.creator == settings.device else {
            throw SyncError(
                .refused, step: .announce, at: zone.place, "its one publisher is the device \(info.creator), not \(settings.device)",
                hint:
                    "publish from that device, or join another zone; if this database is to be \(info.creator) from now on: snapsync device claim \(database.path.shellWord)"
            )
        }
    }

    /// Whether this device publishes in a zone that has several publishers.
    package func isOneOfMany() async throws -> Bool {
        guard settings.role.publishes else { return false }
        return try await zoneInfo().publishers == .many
    }

    /// Returns the zone's creator and publishers; the first call reads them from the cloud.
    package func zoneInfo() async throws -> ZoneInfo { try await zoneOnce.value { try await cloud.zone(zone) } }

    /// Checks that triggers track the changes of the datasets, and installs them again where an application's migration has removed them.
    ///
    /// - Returns: one sentence for each dataset whose tracking had to be repaired.
    package func keepTracking() throws -> [String] {
        let isTracking = try database.read { transaction in
            // Only the user can repair a table that is missing or does not fit. Fail before anything is changed.
            for schema in settings.datasets { _ = try transaction.tables.check(of: schema) }
            return try transaction.tracking.isInstalled(settings.datasets)
        }
        if isTracking { return [] }
        return try database.write { try $0.tracking.install(settings.datasets) }.map {
            "the tracking of \($0) was not as it should be (a migration may have rebuilt the table) and was put in again; all rows were compared"
        }
    }

    /// Reports this device's version to the zone. Without the report other devices show an older version for it. That is no reason to fail, so an
    /// error is only logged.
    package func report(_ token: ChangeToken?) async {
        do {
            try await announce(token)
        } catch {
            logger.warning("the device's report was not written", metadata: ["error": "\(error)"])
        }
    }

    /// Reports this device's version to the zone, or throws.
    func announce(_ token: ChangeToken?) async throws {
        let report = DeviceReport(device: settings.device, role: settings.role.rawValue, token: token, clock: now(), nonce: try nextNonce())
        try await cloud.report(report, in: zone)
    }
}

/// A value that is read at the first request and cached.
final class OnceValue<Value: Sendable>: Sendable {
    private let known = Mutex<Value?>(nil)

    /// Returns the cached value, and reads it first if necessary. Two concurrent first calls may both read it.
    func value(_ read: () async throws -> Value) async rethrows -> Value {
        if let value = known.withLock({ $0 }) { return value }
        let value = try await read()
        known.withLock { $0 = value }
        return value
    }
}

extension SyncSettings {
    /// The zone in which the database takes part.
    package var zoneID: ZoneID { ZoneID(zone, scope: CloudScope(rawValue: scope) ?? .private) }
}

extension SyncContext {
    /// Records that a run of this kind succeeded, and its duration so far.
    func recordSuccess(_ kind: RunKind, in transaction: LocalTransaction) throws {
        let run = runUpToHere()
        try transaction.state.setLastSuccess(run.at)
        try transaction.state.setLastRun(kind, run)
    }

    /// Records that a run of this kind succeeded with nothing to do. Avoids writing to the database if possible.
    func recordIdleSuccess(_ kind: RunKind) throws {
        // The first success, and a success after a failure, change the database's state and must be written to it.
        let isKnown = try database.read { transaction in
            try kind == RunKind(of: settings.role) && transaction.state.lastFailure() == nil && transaction.state.lastRun(kind) != nil
        }
        if isKnown {
            let run = runUpToHere()
            if RunLock.setLastIdleRun(run.at.advanced(byMicroseconds: -run.microseconds), of: database.path) { return }
        }
        try database.write { try recordSuccess(kind, in: $0) }
    }

    private func runUpToHere() -> RunRecord {
        let took = elapsed().components
        return RunRecord(at: now(), microseconds: took.seconds * 1_000_000 + took.attoseconds / 1_000_000_000_000)
    }
}
