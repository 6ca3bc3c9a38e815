/// Whether an application's own triggers run when an import changes their table.
public enum TriggerPolicy: String, Codable, Sendable, CaseIterable {
    /// They run for the rows that the import changes. What they write into tables that are not synced is kept; what they write into synced tables
    /// is ignored.
    case fire
    /// They do not run.
    case off
}
