package import SnapshotModel

/// Takes entities and makes the text that stands between a container's brackets: canonical JSON, an entity a line.
///
/// Memory: what was not taken out with ``clear()``.
package final class EntityText: EntitySink {
    private let encoder: EntityEncoder
    private let buffer = ByteBuffer()
    private var isFirst = true

    /// Makes an empty text.
    package init(schema: DatasetSchema) { encoder = EntityEncoder(SchemaPlan(schema)) }

    /// The text since the last ``clear()``, the separators included.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }

    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        separate()
        try encoder.encode(values, into: buffer)
    }

    /// Takes the JSON of a block of a snapshot as it stands, with the separator that it has in front.
    package func take(block number: Int, json: UnsafeRawBufferPointer) {
        let separator = number == 0 ? 1 : 2
        guard json.count > separator else { return }
        separate()
        buffer.append(UnsafeRawBufferPointer(rebasing: json[separator...]))
    }

    /// Forgets the text; what comes next follows it.
    package func clear() { buffer.clear() }

    private func separate() {
        var cursor = ByteCursor(buffer)
        cursor.append(isFirst ? "\n" : ",\n")
        cursor.finish()
        isFirst = false
    }
}
