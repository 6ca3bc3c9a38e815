package import SnapshotModel
package import StrictText

/// Why an edit lost.
package struct ConflictReason: Hashable, Sendable {
    package let name: String

    /// Another device changed the entity too, and its change counts as later.
    package static let laterEdit = ConflictReason(name: "laterEdit")
    /// Another device deleted the entity, and the deletion counts as later.
    package static let laterDeletion = ConflictReason(name: "laterDeletion")
    /// Two devices inserted different rows under one key; neither had seen the other's.
    package static let sameKey = ConflictReason(name: "sameKey")
    /// The edit does not fit: a value that only one row may have is taken, or a row that it refers to is missing.
    package static let valueTaken = ConflictReason(name: "valueTaken")
    /// Rows refer to the row, so that its deletion was not made.
    package static let parentNeeded = ConflictReason(name: "parentNeeded")
    /// The publisher refused the message that carried the edit.
    package static let refused = ConflictReason(name: "refused")

    package init(name: String) { self.name = name }
}

/// One side of a conflict: an edit or a deletion of one entity.
package struct ConflictSide: Hashable, Sendable {
    /// The entity as canonical JSON; nil for a deletion.
    package let entity: String?
    /// When the edit or deletion was made.
    package let instant: Instant
    /// The device that made it; nil if unknown.
    package let device: String?

    package init(entity: String?, instant: Instant, device: String?) {
        (self.entity, self.instant, self.device) = (entity, instant, device)
    }
}

/// An edit or deletion that lost to another one of the same entity.
package struct Conflict: Hashable, Sendable {
    /// The dataset's name.
    package let dataset: String
    package let key: EntityKey
    package let reason: ConflictReason
    package let loser: ConflictSide
    package let winner: ConflictSide
    /// More about the reason, for people; nil if the reason is sufficient.
    package let detail: String?
    /// The JSON names of the columns that lose; nil for the whole row.
    package let columns: [String]?

    package init(
        dataset: String, key: EntityKey, reason: ConflictReason, loser: ConflictSide, winner: ConflictSide, detail: String? = nil, columns: [String]? = nil
    ) {
        self.dataset = dataset
        self.key = key
        self.reason = reason
        self.loser = loser
        self.winner = winner
        self.detail = detail
        self.columns = columns
    }
}

/// One entry of the conflict journal.
package struct ConflictEntry: Hashable, Sendable {
    /// What the user did about it.
    package enum State: String, Sendable {
        /// Nothing yet.
        case open
        /// The losing edit was brought back as a new edit.
        case taken
        /// The user has seen it and accepts the loss.
        case cleared
    }

    /// Ascending in the order of recording; never reused.
    package let id: Int64
    package let conflict: Conflict
    /// When this device recorded it.
    package let recordedAt: Instant
    package let state: State
}
