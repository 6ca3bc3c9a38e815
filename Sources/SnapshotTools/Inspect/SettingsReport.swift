import LocalTables
public import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText

/// The settings that are stored in a database: the result of ``SyncEngine/settings()``.
public struct SettingsReport: Sendable, Encodable {
    /// One setting.
    public struct Setting: Sendable, Encodable {
        public let key: String
        /// The value as text; nil if it is not set.
        public let value: String?
        /// Whether `config set` changes it. The others are set by `init`, `join`, `device` and `service`.
        public let canBeSet: Bool
    }

    public let database: String
    public let settings: [Setting]
}

extension SyncEngine {
    /// The stored settings. The location and the zone are not read.
    public func settings() throws -> SettingsReport {
        try SyncError.at(.read) {
            try database.read { transaction in
                let settings = try transaction.settings.read(), more = try transaction.settings.operatorSettings()
                func one(_ key: String, _ value: String?, canBeSet: Bool = false) -> SettingsReport.Setting {
                    SettingsReport.Setting(key: key, value: value, canBeSet: canBeSet)
                }
                return SettingsReport(
                    database: database.path,
                    settings: [
                        one("sync", try transaction.settings.preference().choice.rawValue, canBeSet: true),
                        one("entitlement", try transaction.settings.entitlementFile(), canBeSet: true),
                        one("asset-limit", "\(more.assetLimit)", canBeSet: true),
                        one("keep", more.retention?.keepWithin.map(Self.span), canBeSet: true),
                        one("keep-last", more.retention?.keepLast.map(String.init), canBeSet: true),
                        one("interval", more.interval.map(Self.span), canBeSet: true),
                        one("location", settings.cloud), one("zone", settings.zone), one("role", settings.role.rawValue), one("name", settings.device),
                    ])
            }
        }
    }

    /// Sets how often a scheduler syncs this database, so that ``status()`` knows when a success is too old; nil if none does.
    package func setInterval(_ interval: Duration?) throws {
        try database.write { transaction in
            _ = try transaction.settings.read()
            try transaction.settings.interval.set(interval.map { "\($0.components.seconds)" })
        }
    }

    /// A time span as `config set` takes it: `30d`.
    private static func span(_ seconds: Int) -> String {
        let (unit, factor) = [("d", 86_400), ("h", 3600), ("m", 60)].first { seconds % $0.1 == 0 } ?? ("s", 1)
        return "\(seconds / factor)\(unit)"
    }

    /// Sets one of the rules of automatic retention, and keeps the other.
    package func setRetention(keepLast: Int?? = nil, keepWithin: Duration?? = nil) async throws {
        let stored = try database.read { try $0.settings.operatorSettings().retention }
        let last = keepLast ?? stored?.keepLast, within = keepWithin ?? stored?.keepWithin.map { .seconds($0) }
        try await versions.setRetention(last == nil && within == nil ? nil : RetentionPolicy(keepLast: last, keepWithin: within))
    }
}
