public import CloudStore

/// The sources of a gate's decision outside the database.
public struct GateOptions: Sendable {
    /// Says whether the user may sync. If nil, the file that the database's settings name does; without such a file every user may.
    public var entitlement: (any EntitlementProvider)?
    /// A second store of the preference. If nil, the file that the database's settings name, or none.
    public var preference: (any PreferenceBinding)?
    /// The user's account, which must be available for syncing; nil if the cloud needs none.
    public var account: CloudAccount?
    /// Whether the application never uses a cloud. The gate is then always closed, and this is no error.
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
