package import SnapshotModel
package import StrictText

/// Finds the entities whose own timestamps are later than their version.
///
/// Memory: the keys that were found.
package final class LateTimestamps: EntitySink {
    /// The keys of these entities.
    package private(set) var keys: Set<EntityKey> = []
    private let plan: SchemaPlan
    private let rowInstant: RowInstant
    private let latest: Instant
    /// The date two days before ``latest``. A timestamp whose date is not later than this is no later than ``latest``,
    /// whatever its offset, so it need not be parsed.
    private let day: [UInt8]

    /// Returns nil for a dataset without timestamps.
    package init?(schema: DatasetSchema, after latest: Instant) {
        guard let rowInstant = RowInstant(schema) else { return nil }
        plan = SchemaPlan(schema)
        self.rowInstant = rowInstant
        self.latest = latest
        day = Array(latest.advanced(byMicroseconds: -2 * 86_400_000_000).description.utf8.prefix(10))
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if case .text(let text) = values[rowInstant.index], !day.lexicographicallyPrecedes(text.prefix(10)) { return }
        guard let own = rowInstant.instant(in: values), own > latest else { return }
        if let key = plan.keyShape.key(of: values) { keys.insert(key) }
    }
}

/// A sink that keeps the entities' own timestamps.
///
/// Memory: the keys.
package final class OwnInstants: EntitySink {
    /// The instants, by key. Entities without a timestamp have none.
    package private(set) var instants: [EntityKey: Instant] = [:]
    private let keyShape: KeyShape
    private let rowInstant: RowInstant?
    private let latest: Instant?

    /// - Parameter latest: the time of the entities' version, if no timestamp counts as later.
    package init(schema: DatasetSchema, notAfter latest: Instant? = nil) {
        keyShape = schema.keyShape
        rowInstant = RowInstant(schema)
        self.latest = latest
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let own = rowInstant?.instant(in: values), let key = keyShape.key(of: values) else { return }
        instants[key] = latest.map { min(own, $0) } ?? own
    }
}
