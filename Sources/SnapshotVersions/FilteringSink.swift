package import SnapshotModel

/// Passes on the entities whose keys satisfy a condition.
///
/// An entity without a key is passed on too, so that the receiver refuses it.
package final class FilteringSink: EntitySink {
    private let sink: any EntitySink
    private let keyShape: KeyShape
    private let isWanted: (EntityKey) -> Bool

    package init(_ sink: any EntitySink, _ schema: DatasetSchema, where isWanted: @escaping (EntityKey) -> Bool) {
        self.sink = sink
        keyShape = schema.keyShape
        self.isWanted = isWanted
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if let key = keyShape.key(of: values), !isWanted(key) { return }
        try sink.receive(values)
    }
}

/// An entity that owns its values, so the caller may keep it.
package struct OwnedEntity: Sendable {
    package let key: EntityKey
    /// A value for each column of the schema that it was read by.
    package let values: [OwnedValue]
}

/// A sink that keeps all entities.
package final class OwnedEntities: EntitySink {
    package private(set) var all: [OwnedEntity] = []
    private let keyShape: KeyShape

    package init(schema: DatasetSchema) { keyShape = schema.keyShape }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = keyShape.key(of: values) else { return }
        all.append(OwnedEntity(key: key, values: values.map(OwnedValue.init)))
    }
}
