public import CloudStore

/// Where a gate gets what is not in the database.
public struct GateOptions: Sendable {
    /// Who says whether the user may sync; nil: the file that the database's settings name, or, without one, everybody may.
    public var entitlement: (any EntitlementProvider)?
    /// A second store of the preference; nil: the file that the database's settings name, or none.
    public var preference: (any PreferenceBinding)?
    /// The user's account, without which nothing is synced; nil where the cloud needs none.
    public var account: CloudAccount?
    /// Whether the application never wants a cloud: then the gate is closed for good, and that is no error.
    public var isLocalOnly: Bool

    public init(
        entitlement: (any EntitlementProvider)? = nil, preference: (any PreferenceBinding)? = nil, account: CloudAccount? = nil, isLocalOnly: Bool = false
    ) {
        self.entitlement = entitlement
        self.preference = preference
        self.account = account
        self.isLocalOnly = isLocalOnly
    }
}
