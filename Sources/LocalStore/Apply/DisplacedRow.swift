package import SnapshotModel
package import StrictText

/// A row that is about to be removed from its table and set aside.
package struct DisplacedRow {
    package let schema: DatasetSchema
    package let key: EntityKey
    package let reason: SetAsideReason
    /// The entity's instant.
    package let instant: Instant
    /// The instant of the deletion that is tracked for the row, if the row was the version's; nil for a row that was changed here.
    package let displacedAt: Instant?
    /// Passes the row to a sink. Valid only during the call that receives this value.
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
