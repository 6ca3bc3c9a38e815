/// What becomes of an application's own triggers when an import changes the table that they are on.
public enum TriggerPolicy: String, Codable, Sendable, CaseIterable {
    /// They run for the rows that the import changes. What they write into tables that are not synced stays; what they write into synced
    /// tables does not.
    case fire
    /// They do not run.
    case off
}
