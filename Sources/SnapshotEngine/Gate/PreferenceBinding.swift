import Foundation
import LocalTables
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
            let before = try database.read { transaction in
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

/// A preference in Foundation's `UserDefaults`: the switch in an application's own settings screen.
///
///     let gate = GateOptions(preference: DefaultsPreference(key: "sync"))
///     // In SwiftUI: @AppStorage("sync") var isSyncOn = false
///
/// A key without a value means that the user has not chosen. A value that the application registers with `register(defaults:)` counts as a
/// choice, so register none for this key. `UserDefaults` does not store when a key was changed, so `changedAt` is nil.
public struct DefaultsPreference: PreferenceBinding {
    /// The key that holds true or false.
    public let key: String
    /// The suite, for example of an application group; nil for the application's own defaults.
    public let suiteName: String?

    public init(key: String, suiteName: String? = nil) { (self.key, self.suiteName) = (key, suiteName) }

    /// Returns the stored value; nil if the key has none.
    ///
    /// - Throws: ``SyncError`` if the value is neither true nor false, or the suite cannot be opened.
    public func load() throws -> BoundPreference? {
        guard let value = try defaults().object(forKey: key) else { return nil }
        guard let isOn = value as? Bool else {
            throw SyncError(.dataRefused, step: .open, at: place, "the value is neither true nor false", hint: "correct it, or bind another key")
        }
        return BoundPreference(isOn: isOn)
    }

    /// Writes the value; nil removes the key.
    ///
    /// - Throws: ``SyncError`` if the suite cannot be opened or written.
    public func store(_ isOn: Bool?) throws {
        let defaults = try defaults()
        if let isOn { defaults.set(isOn, forKey: key) } else { defaults.removeObject(forKey: key) }
        guard defaults.synchronize() else {
            throw SyncError(.inputOutput, step: .store, at: place, "the defaults cannot be written", hint: "check the room and the rights of the home folder")
        }
    }

    /// Yields whenever this process posts that it has changed any of its defaults.
    ///
    /// Foundation posts that by itself on Apple's systems only. Elsewhere post `UserDefaults.didChangeNotification` after `set(_:forKey:)`, or
    /// change the choice with ``SyncGate/setPreference(_:)-(Bool)``; without either, the next run or decision shows the new value.
    public var changes: AsyncStream<Void>? {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let observer = Observer(
                value: NotificationCenter.default.addObserver(forName: UserDefaults.didChangeNotification, object: nil, queue: nil) { _ in
                    continuation.yield()
                })
            continuation.onTermination = { _ in NotificationCenter.default.removeObserver(observer.value) }
        }
    }

    // SAFETY (@unchecked Sendable): the token is only passed back to the notification center that made it.
    private struct Observer: @unchecked Sendable {
        let value: any NSObjectProtocol
    }

    private func defaults() throws -> UserDefaults {
        guard let suiteName else { return .standard }
        guard let defaults = UserDefaults(suiteName: suiteName) else {
            throw SyncError(
                .refused, step: .open, at: place, "there can be no suite of this name", hint: "name another suite, or none for the application's own defaults")
        }
        return defaults
    }

    private var place: String { "user defaults\(suiteName.map { " of \($0)" } ?? ""), key \(key)" }
}
