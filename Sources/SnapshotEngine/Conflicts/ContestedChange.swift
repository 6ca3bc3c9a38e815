import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// A tracked change and a version's state of the same entity that were made without knowledge of each other; one of them loses.
struct ContestedChange: Sendable {
    enum Loser: Sendable { case here, version }

    let change: TrackedChange
    let loser: Loser
    let reason: ConflictReason
    /// When the version's entity last changed or was deleted.
    let versionInstant: Instant
    /// Whether the version has the entity; else it says that it was deleted.
    let isInVersion: Bool
    /// Whether the read mark of the losing side comes on top of the winning one, so that only the rest of it is lost.
    var isMarkKept = false
}

extension ContestedChange {
    /// Finds out whether a tracked change and the version's state contest; nil if nothing can be lost.
    ///
    /// An edit that was made on top of what the version has is no contest, and neither are two deletions.
    ///
    /// - Parameters:
    ///   - stays: whether the tracked change wins.
    ///   - entity: whether the version has the entity.
    ///   - instant: when the version's entity changed, or was deleted; nil where the version knows nothing of it.
    ///   - hasChanged: whether another device is known to have changed the entity since the version that was applied here.
    ///   - isRefused: whether the publisher has refused the change.
    init?(_ change: TrackedChange, stays: Bool, entity: Bool, at instant: Instant?, hasChanged: Bool, isRefused: Bool) {
        guard let instant, entity || !change.isDeletion else { return nil }
        self.change = change
        versionInstant = instant
        isInVersion = entity
        // Neither side had seen a row under the key.
        let areInserts = entity && !change.isDeletion && change.base == nil
        if stays {
            // Two devices that replace one state by slow clocks give their changes one instant; a deletion has taken the place of an edit then.
            let isOther = hasChanged || !entity && change.isInVersion == true
            if let base = change.base, instant < base || instant == base && !isOther { return nil }
            loser = .version
            reason = change.isDeletion ? .laterDeletion : areInserts ? .sameKey : .laterEdit
        } else {
            // A rule made this change on top of what was there; nobody edited anything.
            if change.base == change.instant, !change.isCarried { return nil }
            loser = .here
            reason = isRefused ? .refused : !entity ? .laterDeletion : areInserts ? .sameKey : .laterEdit
        }
    }
}
