import StrictText

/// How an import decides between what was changed here and the version, where it is not the ordinary last write wins.
package struct MergeRule: Sendable, Hashable {
    /// Last write wins.
    package static let ordinary = MergeRule()

    /// Whether any entity or tombstone of the version beats a change made here: at a first import by the policy `replace`.
    var cloudWins = false
    /// Whether the version's row keeps a UNIQUE value that a row changed here holds, too, whatever their instants: also at a reader.
    var versionStays = false
    /// Whether of equally late entities the one with more columns filled wins: the policy `single`.
    var prefersFuller = false
    /// Whether the rows that lose are kept in a file: at a first import.
    var keepsCopy = false
    /// Whether changes that `detach` kept for this `init` are decided by last write wins, though ``cloudWins``.
    var hasDetachedChanges = false
    /// Up to here the cloud no longer knows what was deleted: an older change of an entity that it lacks does not bring it back.
    var horizon: Instant?
}
