import GRDB
package import SnapshotModel
package import StrictText

/// Why an entity could not stay in its table.
package struct SetAsideReason: Hashable, Sendable {
    package let name: String

    /// It refers to an entity that does not exist and that this device does not know.
    package static let parentMissing = SetAsideReason(name: "parentMissing")
    /// Another entity has a value that must be unique, and its instant is later.
    package static let valueTaken = SetAsideReason(name: "valueTaken")
    /// It was deleted but other entities still need it, and by now another entity has a value that must be unique.
    package static let parentNeeded = SetAsideReason(name: "parentNeeded")
    /// It was changed here so long ago that the zone has dropped the tombstones of that time, and the zone does not have the entity.
    package static let tooOld = SetAsideReason(name: "tooOld")

    package init(name: String) { self.name = name }
}

/// An entity that was removed from its table and stored.
package struct SetAsideEntity: Hashable, Sendable {
    package let key: EntityKey
    /// Canonical JSON.
    package let entity: String
    package let reason: SetAsideReason
    /// The instant of the entity.
    package let instant: Instant
    /// The instant of the deletion that is tracked for the entity, if it was the version's and lost; nil for a change made here.
    package let displacedAt: Instant?

    package init(key: EntityKey, entity: String, reason: SetAsideReason, instant: Instant, displacedAt: Instant?) {
        self.key = key
        self.entity = entity
        self.reason = reason
        self.instant = instant
        self.displacedAt = displacedAt
    }
}
