import LocalStore
import SnapshotModel
import SnapshotVersions
public import StrictText

/// A second store of the user's choice, such as an application's own settings, that is kept equal to the database's.
///
/// The database decides. If the bound store has changed since the last comparison, the database takes its value; if the database has changed, the
/// bound store gets the value. If both have changed, the later change counts, and if neither is known to be later, off. While the database is
/// undecided, a value in the bound store is the user's choice.
public protocol PreferenceBinding: Sendable {
    /// Returns the stored choice; nil if there is none. A store that was just created or reset has none, and that is no choice.
    func load() throws -> BoundPreference?
    /// Stores the choice durably; nil removes it, if the user takes the choice back.
    func store(_ isOn: Bool?) throws
    /// Yields when the value may have changed; the gate then reads it at once (``SyncGate/decisions()``, a watch). Each call returns a new
    /// stream. Nil, the default, for a store that cannot tell.
    var changes: AsyncStream<Void>? { get }
}

extension PreferenceBinding {
    public var changes: AsyncStream<Void>? { nil }
}

/// The choice in a bound store.
public struct BoundPreference: Hashable, Sendable {
    public let isOn: Bool
    /// When the user changed it, if the store knows.
    public let changedAt: Instant?

    public init(isOn: Bool, changedAt: Instant? = nil) { (self.isOn, self.changedAt) = (isOn, changedAt) }
}

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
