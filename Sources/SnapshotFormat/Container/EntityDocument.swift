package import SnapshotModel
import StrictText

/// One entity as canonical JSON text: what a database keeps of an entity that is not in its table.
package enum EntityDocument {
    /// The text of the last entity that `give` gives; nil if it gives none.
    ///
    /// - Throws: ``FormatError`` with `.badRow` for what can be no entity.
    package static func make(_ schema: DatasetSchema, _ give: (any EntitySink) throws -> Void) throws -> String? {
        let sink = TextSink(schema)
        try give(sink)
        return sink.text
    }

    /// Gives the entity of a text to a sink.
    ///
    /// - Throws: ``FormatError`` if the text is not one entity of the schema.
    package static func give(_ text: String, of schema: DatasetSchema, to sink: any EntitySink) throws {
        var rest = Array("{\"syncTimestamp\":\"2000-01-01T00:00:00Z\",\"\(schema.name)\":[\(text)]}".utf8)[...]
        let reader = ContainerReader(schemas: [schema]) { buffer in
            let piece = rest.prefix(buffer.count)
            buffer.copyBytes(from: piece)
            rest = rest.dropFirst(piece.count)
            return piece.count
        }
        while let block = try reader.next() { try block.give(to: sink) }
    }

    private final class TextSink: EntitySink {
        private let encoder: EntityEncoder
        private let buffer = ByteBuffer()
        private(set) var text: String?

        init(_ schema: DatasetSchema) { encoder = EntityEncoder(SchemaPlan(schema)) }

        func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
            buffer.clear()
            try encoder.encode(values, into: buffer)
            text = String(decoding: buffer.bytes, as: UTF8.self)
        }
    }
}
