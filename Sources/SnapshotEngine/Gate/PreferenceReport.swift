import LocalStore
import SnapshotModel
import SnapshotVersions

/// The result of `enable` or `disable`.
public struct PreferenceReport: Sendable, Encodable {
    public let database: String
    /// Whether sync is on now.
    public let isEnabled: Bool
    /// Whether sync was on before.
    public let wasEnabled: Bool
    /// Whether this database is synced now, and the facts behind that.
    public let gate: GateReport
    /// Warnings, one sentence each.
    public let warnings: [String]
}

extension SyncGate {
    /// Turns sync on or off and returns the new state. See ``SettingsTable/setPreference(_:)``.
    public func turn(on isOn: Bool) async throws -> PreferenceReport {
        try await WorkerThreads.host {
            let before = try database.read(at: .open) { transaction in
                try checkIsSetUp(transaction)
                return try transaction.settings.preference().choice == .on
            }
            let warning = try setPreference(isOn)
            let report = try await report()
            return PreferenceReport(
                database: database.path, isEnabled: report.isEnabled, wasEnabled: before, gate: report, warnings: warning.map { [$0] } ?? [])
        }
    }
}
