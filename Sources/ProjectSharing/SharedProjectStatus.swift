/// Whether a project is shared in the cloud.
public enum SharedProjectStatus: String, Sendable, Encodable, CaseIterable {
    /// The cloud is being asked.
    case checking
    /// The project is shared.
    case exists
    /// The project is not shared.
    case absent
}
