import GRDB
package import SnapshotModel
package import StrictText

/// Why an entity could not stay in its table.
package struct SetAsideReason: Hashable, Sendable {
    package let name: String

    /// It refers to an entity that is not there and was not known here.
    package static let parentMissing = SetAsideReason(name: "parentMissing")
    /// Another entity has a value that only one may have, and has it later.
    package static let valueTaken = SetAsideReason(name: "valueTaken")
    /// It was deleted, others still need it, and another entity has a value by now that only one may have.
    package static let parentNeeded = SetAsideReason(name: "parentNeeded")
    /// It was changed here before the time of which the cloud no longer knows what was deleted, and the cloud has it no longer.
    package static let tooOld = SetAsideReason(name: "tooOld")

    package init(name: String) { self.name = name }
}

/// An entity that was taken out of its table and kept.
package struct SetAsideEntity: Hashable, Sendable {
    package let key: EntityKey
    /// Canonical JSON.
    package let entity: String
    package let reason: SetAsideReason
    /// The instant of the entity.
    package let instant: Instant
    /// The instant of the deletion that is tracked for it, where it was the version's and lost; nil for a change made here. An earlier version
    /// had the winner's instant here, now it is the entity's own.
    package let displacedAt: Instant?

    package init(key: EntityKey, entity: String, reason: SetAsideReason, instant: Instant, displacedAt: Instant?) {
        self.key = key
        self.entity = entity
        self.reason = reason
        self.instant = instant
        self.displacedAt = displacedAt
    }
}
