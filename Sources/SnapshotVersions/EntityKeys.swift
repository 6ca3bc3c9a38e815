import SnapshotModel

/// Takes the keys of entities, in their order.
final class EntityKeys: EntitySink {
    private(set) var keys: [EntityKey] = []
    private let shape: KeyShape

    init(_ schema: DatasetSchema) { shape = schema.keyShape }

    /// Forgets the keys.
    func clear() { keys.removeAll(keepingCapacity: true) }

    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if let key = shape.key(of: values) { keys.append(key) }
    }
}
