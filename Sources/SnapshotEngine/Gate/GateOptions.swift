/// Where a gate gets what is not in the database.
public struct GateOptions: Sendable {
    /// Who says whether the user may sync; nil: the file that the database's settings name, or, without one, everybody may.
    public var entitlement: (any EntitlementProvider)?
    /// A second store of the preference; nil: the file that the database's settings name, or none.
    public var preference: (any PreferenceBinding)?

    public init(entitlement: (any EntitlementProvider)? = nil, preference: (any PreferenceBinding)? = nil) {
        self.entitlement = entitlement
        self.preference = preference
    }
}
