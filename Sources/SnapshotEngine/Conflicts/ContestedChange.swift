import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// A tracked change and a version's state of the same entity, made without knowledge of each other. One of them loses.
struct ContestedChange: Sendable {
    enum Loser: Sendable { case here, version }

    let change: TrackedChange
    let loser: Loser
    let reason: ConflictReason
    /// When the version's entity last changed or was deleted.
    let versionInstant: Instant
    /// Whether the version has the entity; if not, the version says that it was deleted.
    let isInVersion: Bool
    /// Whether the losing side's read mark is applied on top of the winner, so that only the rest of the loser is lost.
    var isMarkKept = false
}

extension ContestedChange {
    /// Decides whether a tracked change and the version's state contest; nil if nothing can be lost.
    ///
    /// An edit that was based on the version's state is not contested, and neither are two deletions.
    ///
    /// - Parameters:
    ///   - stays: whether the tracked change wins.
    ///   - entity: whether the version has the entity.
    ///   - instant: when the version's entity was changed or deleted; nil if the version does not know it.
    ///   - hasChanged: whether another device certainly changed the entity after the applied version.
    ///   - isRefused: whether the publisher has refused the change.
    init?(_ change: TrackedChange, stays: Bool, entity: Bool, at instant: Instant?, hasChanged: Bool, isRefused: Bool) {
        guard let instant, entity || !change.isDeletion else { return nil }
        self.change = change
        versionInstant = instant
        isInVersion = entity
        // Both sides inserted the row without knowing a row with that key.
        let areInserts = entity && !change.isDeletion && change.base == nil
        if stays {
            // Two devices with slow clocks that replace the same state may give their changes the same instant. In that case a deletion has
            // replaced an edit, or a row has replaced a deletion.
            let isOther = hasChanged || change.isInVersion == !entity
            if let base = change.base, instant < base || instant == base && !isOther { return nil }
            loser = .version
            reason = change.isDeletion ? .laterDeletion : areInserts ? .sameKey : .laterEdit
        } else {
            // A rule made this change on top of the existing state. No user edited anything.
            if change.base == change.instant, !change.isCarried { return nil }
            loser = .here
            reason = isRefused ? .refused : !entity ? .laterDeletion : areInserts ? .sameKey : .laterEdit
        }
    }
}
