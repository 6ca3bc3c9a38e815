import StrictText

/// How an import decides between a local change and the version, where this differs from last write wins.
package struct MergeRule: Sendable, Hashable {
    /// Last write wins.
    package static let ordinary = MergeRule()

    /// Whether any entity or tombstone of the version beats a local change: at a first import with the policy `replace`.
    var cloudWins = false
    /// Whether the version's row keeps a UNIQUE value that a locally changed row holds as well, whatever their instants: also at a reader.
    var versionStays = false
    /// Whether among equally late entities the one with more filled columns wins: the policy `single`.
    var prefersFuller = false
    /// Whether losing rows are written to a file: at a first import.
    var keepsCopy = false
    /// Whether changes that `detach` kept for this `init` are decided by last write wins, despite ``cloudWins``.
    var hasDetachedChanges = false
    /// The instant up to which the cloud no longer knows deletions. An older change does not bring back an entity that the cloud lacks.
    var horizon: Instant?
}
