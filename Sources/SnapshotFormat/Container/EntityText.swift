package import SnapshotModel

/// A sink that makes the text between a container's brackets: canonical JSON, one entity per line.
///
/// Memory: the text since the last ``clear()``.
package final class EntityText: EntitySink {
    private let encoder: EntityEncoder
    private let buffer = ByteBuffer()
    private var isFirst = true

    /// Makes an empty text.
    package init(schema: DatasetSchema) { encoder = EntityEncoder(SchemaPlan(schema)) }

    /// The text since the last ``clear()``, including separators.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        separate()
        try encoder.encode(values, into: buffer)
    }

    /// Appends the JSON of a snapshot's block as it is, which begins with the block's separator.
    package func take(block number: Int, json: UnsafeRawBufferPointer) {
        let separator = number == 0 ? 1 : 2
        guard json.count > separator else { return }
        separate()
        buffer.append(UnsafeRawBufferPointer(rebasing: json[separator...]))
    }

    /// Removes the text; what is added next continues it.
    package func clear() { buffer.clear() }

    private func separate() {
        var cursor = ByteCursor(buffer)
        cursor.append(isFirst ? "\n" : ",\n")
        cursor.finish()
        isFirst = false
    }
}
