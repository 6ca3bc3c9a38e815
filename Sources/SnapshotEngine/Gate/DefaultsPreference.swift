import Foundation
import SnapshotVersions

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
