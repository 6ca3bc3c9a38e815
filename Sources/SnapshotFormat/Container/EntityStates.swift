package import SnapshotModel
package import StrictText

/// The parts of an entity that a comparison needs.
package struct EntityState: Sendable, Hashable {
    /// The entity's own timestamp, if it has one that is a valid instant.
    package let timestamp: Instant?
    /// SHA-256 of the entity's canonical JSON.
    package let hash: ContentHash
    /// How many columns are not NULL.
    package let filledCount: Int
}

/// A sink that keeps the states of selected entities. A row that cannot be an entity gets the hash of no bytes.
///
/// Memory: the states that are kept, and one entity.
package final class EntityStates: EntitySink {
    package private(set) var states: [EntityKey: EntityState] = [:]
    /// How many rows have NULL or an infinite number in the key. No version can contain them.
    package private(set) var keylessCount = 0
    private let plan: SchemaPlan
    private let encoder: EntityEncoder
    private let rowInstant: RowInstant?
    private let buffer = ByteBuffer()
    private let isWanted: (EntityKey) -> Bool

    /// Keeps the states of the entities whose keys satisfy `isWanted`.
    package init(schema: DatasetSchema, isWanted: @escaping (EntityKey) -> Bool = { _ in true }) {
        plan = SchemaPlan(schema)
        encoder = EntityEncoder(plan)
        rowInstant = RowInstant(schema)
        self.isWanted = isWanted
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = plan.keyShape.key(of: values) else {
            keylessCount += 1
            return
        }
        guard isWanted(key) else { return }
        buffer.clear()
        do {
            // SQLite calls 0.0 and -0.0 equal, and no trigger can tell that one replaced the other.
            if values.contains(where: { if case .real(0) = $0 { true } else { false } }) {
                try values.map { if case .real(0) = $0 { .real(0) } else { $0 } }.withUnsafeBufferPointer { try encoder.encode($0, into: buffer) }
            } else {
                try encoder.encode(values, into: buffer)
            }
        } catch let error as SyncError where error.format != nil {
            // No version can contain such a row, so it gets the hash of no bytes, which equals no entity's.
            buffer.clear()
        }
        states[key] = EntityState(
            timestamp: rowInstant?.instant(in: values), hash: ContentHash(of: buffer.bytes), filledCount: values.reduce(0) { $0 + ($1.isNull ? 0 : 1) })
    }
}

extension ContentHash: Comparable {
    /// The order of the hashes' bytes, which equals the order of their hexadecimal digits.
    package static func < (left: ContentHash, right: ContentHash) -> Bool { left.description < right.description }
}

/// A sink that keeps the entities' keys, in order.
package final class EntityKeys: EntitySink {
    package private(set) var keys: [EntityKey] = []
    private let keyShape: KeyShape

    package init(_ schema: DatasetSchema) { keyShape = schema.keyShape }

    /// Forgets the keys.
    package func clear() { keys.removeAll(keepingCapacity: true) }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if let key = keyShape.key(of: values) { keys.append(key) }
    }
}
