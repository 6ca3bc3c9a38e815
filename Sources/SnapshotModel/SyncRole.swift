/// What a device does in a zone.
public enum SyncRole: String, Sendable, Codable, CaseIterable {
    /// Publishes its data.
    case writer
    /// Imports what a writer publishes.
    case reader
}
