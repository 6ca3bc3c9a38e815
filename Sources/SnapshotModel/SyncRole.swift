/// What a device does in a zone.
public enum SyncRole: String, Sendable, Codable, CaseIterable {
    /// Publishes its data.
    case writer
    /// Imports what a writer publishes.
    case reader
    /// Imports what others publish, merges, and publishes.
    case peer

    /// Whether a device of this role makes commits.
    public var publishes: Bool { self != .reader }
}
