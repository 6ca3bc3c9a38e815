package import SnapshotModel

/// Gives on those entities whose keys are wanted.
package final class FilterSink: EntitySink {
    private let sink: any EntitySink
    private let keyIndex: Int
    private let isWanted: (EntityKey) -> Bool

    package init(_ sink: any EntitySink, _ schema: DatasetSchema, isWanted: @escaping (EntityKey) -> Bool) {
        self.sink = sink
        keyIndex = schema.keyIndex
        self.isWanted = isWanted
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        switch values[keyIndex] {
        case .text(let bytes) where !isWanted(.text(Array(bytes))): return
        case .integer(let value) where !isWanted(.integer(value)): return
        default: try sink.take(values)
        }
    }
}
