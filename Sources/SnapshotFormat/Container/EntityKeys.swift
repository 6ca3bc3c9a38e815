package import SnapshotModel

/// A sink that keeps the entities' keys, in order.
package final class EntityKeys: EntitySink {
    package private(set) var keys: [EntityKey] = []
    private let keyShape: KeyShape

    package init(_ schema: DatasetSchema) { keyShape = schema.keyShape }

    /// Forgets the keys.
    package func clear() { keys.removeAll(keepingCapacity: true) }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if let key = keyShape.key(of: values) { keys.append(key) }
    }
}
