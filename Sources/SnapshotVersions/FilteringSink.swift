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

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        if let key = keyShape.key(of: values), !isWanted(key) { return }
        try sink.take(values)
    }
}
