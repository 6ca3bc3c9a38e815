package import SnapshotModel

/// Gives entities on, those alone whose key passes.
package final class EntityFilter: EntitySink {
    private let sink: any EntitySink
    private let keyIndex: Int
    private let passes: (EntityKey) -> Bool

    package init(_ sink: any EntitySink, schema: DatasetSchema, passes: @escaping (EntityKey) -> Bool) {
        self.sink = sink
        keyIndex = schema.keyIndex
        self.passes = passes
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let key = EntityKey(values[keyIndex]), passes(key) else { return }
        try sink.take(values)
    }
}
