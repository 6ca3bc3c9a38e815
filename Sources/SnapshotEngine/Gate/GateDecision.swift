import SnapshotVersions

/// Whether this database is synced now: taken from one place, for every run anew.
///
///     if case .closed(let reason) = try await engine.gate.decision() { print(reason) }
public enum GateDecision: Hashable, Sendable {
    /// It is: the user wants it and may.
    case open
    /// It is not: nothing is read from or sent to the cloud; changes go on being noted.
    case closed(GateReason)

    /// Why it is closed; nil if it is open.
    public var reason: GateReason? {
        if case .closed(let reason) = self { reason } else { nil }
    }
}

/// Why a database is not synced, and what would change that.
public struct GateReason: Hashable, Sendable, CustomStringConvertible {
    /// The kind of reason. A struct, so that a new one breaks nobody's switch.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let name: String

        /// The user has not said yet whether to sync.
        public static let preferenceUndecided = Code(name: "preferenceUndecided")
        /// The user has turned it off.
        public static let preferenceOff = Code(name: "preferenceOff")
        /// The store that the preference is bound to says something else and cannot be read or written.
        public static let preferenceUnknown = Code(name: "preferenceUnknown")
        /// The user may not.
        public static let notEntitled = Code(name: "notEntitled")
        /// The user might until a time that has passed.
        public static let entitlementExpired = Code(name: "entitlementExpired")
        /// Nobody can say whether the user may, and no earlier answer holds any longer.
        public static let entitlementUnknown = Code(name: "entitlementUnknown")
        /// Nobody is signed in to the account that the cloud needs.
        public static let noAccount = Code(name: "noAccount")
        /// The account may not use the cloud.
        public static let accountRestricted = Code(name: "accountRestricted")
        /// There is an account, and it cannot be used just now, or nobody can tell.
        public static let accountUnavailable = Code(name: "accountUnavailable")
        /// The application uses the database without a cloud, on purpose.
        public static let localOnly = Code(name: "localOnly")
        /// The database is a stand-in in memory.
        public static let inMemory = Code(name: "inMemory")

        public init(name: String) { self.name = name }
        public var description: String { name }
    }

    public let code: Code
    /// The reason in words.
    public let reason: String
    /// What to do.
    public let hint: String

    public init(_ code: Code, _ reason: String, hint: String) {
        self.code = code
        self.reason = reason
        self.hint = hint
    }

    public var description: String { "\(reason); hint: \(hint)" }
}

extension SyncError {
    /// What is thrown where the gate is closed.
    init(_ reason: GateReason, at database: String) {
        self.init(.refused, step: .open, at: database, reason.reason, hint: reason.hint)
        identifier = "gate.\(reason.code.name)"
    }
}
