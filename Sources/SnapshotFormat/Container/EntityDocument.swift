package import SnapshotModel
internal import StrictText

/// One entity as JSON text outside a container, as in messages, and in the database for entities that are not in their table.
package enum EntityDocument {
    /// The text of the last entity that `give` passes to its sink; nil if there is none.
    ///
    /// - Throws: ``FormatError`` with `.badRow` for a row that cannot be an entity.
    package static func make(_ schema: DatasetSchema, _ give: (any EntitySink) throws -> Void) throws -> String? {
        let sink = TextSink(schema)
        try give(sink)
        return sink.text
    }

    /// Parses a text as an entity and passes it to the sinks.
    ///
    /// - Returns: the names of fields that the schema does not have, which were skipped.
    /// - Throws: ``FormatError`` with `.badEntity` if the text is not exactly one entity of the schema; what a sink throws.
    @discardableResult
    package static func give(_ text: String, of schema: DatasetSchema, to sinks: any EntitySink...) throws -> Set<String> {
        let plan = SchemaPlan(schema)
        let parser = EntityParser(plan, isForeign: false)
        let block = EntityBlock()
        var text = text
        text.withUTF8 { block.raw.append(UnsafeRawBufferPointer($0)) }
        block.begin(columnCount: plan.count)
        block.raw.seal()
        let scanner = JSONScanner(block.raw.bytes)
        do throws(EntityFault) {
            let end = try parser.parse(scanner, at: 0, into: block)
            guard end == block.raw.count else { throw EntityFault("text stands behind the entity") }
        } catch {
            let column = error.column.map { ", column \(plan.name($0))" } ?? ""
            throw FormatError(.badEntity, at: "\(schema.name), an entity\(column)", error.reason)
        }
        guard block.takeKey(plan, parser, ordered: false) == nil else {
            throw FormatError(.badEntity, at: "\(schema.name), an entity", "the key is longer than \(FormatLimits.keyBytes) bytes")
        }
        for sink in sinks { try withExtendedLifetime(block) { try block.give(to: sink) } }
        return block.unknownFieldNames
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
