/// What is known of a project in the cloud.
public enum SharedProjectStatus: String, Sendable, Encodable, CaseIterable {
    /// It is being looked up.
    case checking
    /// It is shared.
    case exists
    /// It is not shared.
    case absent
}
