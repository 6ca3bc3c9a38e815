package import SnapshotModel
package import StrictText

/// A row on its way out of its table, to be set aside.
package struct DisplacedRow {
    package let schema: DatasetSchema
    package let key: EntityKey
    package let reason: SetAsideReason
    /// The entity's instant.
    package let instant: Instant
    /// The instant of the deletion that is tracked for it, where it is the version's; nil for a change made here.
    package let displacedAt: Instant?
    /// Lends the row to a sink, while the call lasts that hands this over.
    package let give: (any EntitySink) throws -> Void

    package init(
        schema: DatasetSchema, key: EntityKey, reason: SetAsideReason, instant: Instant, displacedAt: Instant?, give: @escaping (any EntitySink) throws -> Void
    ) {
        self.schema = schema
        self.key = key
        self.reason = reason
        self.instant = instant
        self.displacedAt = displacedAt
        self.give = give
    }
}
