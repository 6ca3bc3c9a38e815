public import CloudStore
import SnapshotVersions
import StrictText

/// Whether this database is synced now. The gate decides it before every run.
///
///     if case .closed(let reason) = try await engine.gate.decision() { print(reason) }
public enum GateDecision: Hashable, Sendable {
    /// Sync is on, and the user may sync.
    case open
    /// Sync is off. Nothing is read from or sent to the cloud; changes are still tracked.
    case closed(GateReason)

    /// Why the gate is closed; nil if it is open.
    public var reason: GateReason? {
        if case .closed(let reason) = self { reason } else { nil }
    }
}

/// Why a database is not synced, and how to change that.
public struct GateReason: Hashable, Sendable, CustomStringConvertible {
    /// The kind of reason. It is a struct, so that a new kind breaks no switch statement.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// The user has not decided yet whether to sync.
        public static let preferenceUndecided = Code(name: "preferenceUndecided")
        /// The user has turned sync off.
        public static let preferenceOff = Code(name: "preferenceOff")
        /// The bound store of the preference cannot be read or written, so the user's choice is not certain.
        public static let preferenceUnknown = Code(name: "preferenceUnknown")
        /// The user is not entitled to sync.
        public static let notEntitled = Code(name: "notEntitled")
        /// The user's entitlement has ended.
        public static let entitlementExpired = Code(name: "entitlementExpired")
        /// The entitlement is unknown, and no earlier answer still counts.
        public static let entitlementUnknown = Code(name: "entitlementUnknown")
        /// Nobody is signed in to the account that the cloud needs.
        public static let noAccount = Code(name: "noAccount")
        /// The account may not use the cloud.
        public static let accountRestricted = Code(name: "accountRestricted")
        /// The account cannot be used at the moment, or its state is unknown.
        public static let accountUnavailable = Code(name: "accountUnavailable")
        /// The database is an in-memory replacement for a database that could not be opened.
        public static let inMemory = Code(name: "inMemory")

        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    public let code: Code
    /// The reason as a sentence.
    public let reason: String
    /// What to do.
    public let hint: String

    public init(_ code: Code, _ reason: String, hint: String) { (self.code, self.reason, self.hint) = (code, reason, hint) }

    public var description: String { "\(reason); hint: \(hint)" }
}

extension SyncError {
    /// The error for a closed gate.
    init(_ reason: GateReason, at database: String) {
        self.init(.refused, step: .open, at: database, reason.reason, hint: reason.hint)
        identifier = "gate.\(reason.code.name)"
    }
}

/// The sources of a gate's decision outside the database.
public struct GateOptions: Sendable {
    /// Says whether the user may sync. If nil, the file that the database's settings name does; without such a file every user may.
    public var entitlement: (any EntitlementProvider)?
    /// A second store of the preference, such as the application's settings; nil if there is none.
    public var preference: (any PreferenceBinding)?
    /// The user's account, which must be available for syncing; nil if the cloud needs none.
    public var account: CloudAccount?

    public init(entitlement: (any EntitlementProvider)? = nil, preference: (any PreferenceBinding)? = nil, account: CloudAccount? = nil) {
        (self.entitlement, self.preference, self.account) = (entitlement, preference, account)
    }
}
