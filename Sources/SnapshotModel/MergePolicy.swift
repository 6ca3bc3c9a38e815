/// What happens to a device's own entities if it has no version in common with the zone: at the first import, and when syncing is enabled. After
/// that, edits are always merged (docs/internals/merge.md).
package enum MergePolicy: String, NameInFile, Sendable {
    /// The zone's entities and tombstones win. Entities that the zone does not have are added to it or replaced, as the options of `init` say.
    case replace
    /// The entities of both sides are kept; of two with one key, the later wins.
    case merge
    /// Only one entity of both sides is kept: the later one; of two with the same instant, the one with more columns filled. For a dataset of
    /// settings.
    case single
}

/// Whether an application's own triggers run when an import changes their table.
package enum TriggerPolicy: String, NameInFile, Sendable {
    /// They run for the rows that the import changes. What they write into tables that are not synced is kept; what they write into synced tables
    /// is ignored.
    case fire
    /// They do not run.
    case off
}
