package import SnapshotModel

/// An entity that owns its values, so the caller may keep it.
package struct OwnedEntity: Sendable {
    let key: EntityKey
    /// A value for each column of the schema that it was read by.
    package let values: [OwnedValue]
}

/// A sink that keeps all entities.
package final class OwnedEntities: EntitySink {
    package private(set) var all: [OwnedEntity] = []
    private let keyShape: KeyShape

    package init(schema: DatasetSchema) { keyShape = schema.keyShape }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else { return }
        all.append(OwnedEntity(key: key, values: values.map(OwnedValue.init)))
    }
}
