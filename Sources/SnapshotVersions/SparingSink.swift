package import SnapshotModel

/// Gives entities on, except those whose rows stay as they are.
package final class SparingSink: EntitySink {
    private let sink: any EntitySink
    private let keyIndex: Int
    private let spared: Set<EntityKey>

    package init(_ sink: any EntitySink, keyIndex: Int, sparing spared: Set<EntityKey>) {
        self.sink = sink
        self.keyIndex = keyIndex
        self.spared = spared
    }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        switch values[keyIndex] {
        case .text(let bytes) where spared.contains(.text(Array(bytes))): return
        case .integer(let value) where spared.contains(.integer(value)): return
        default: try sink.take(values)
        }
    }
}
