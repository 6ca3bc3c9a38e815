package import SnapshotModel
package import StrictText

/// One entity as JSON text outside a container, as in messages, and in the database for entities that are not in their table.
package enum EntityDocument {
    /// The text of the last entity that `give` passes to its sink; nil if there is none.
    ///
    /// - Throws: ``SyncError`` with `.badRow` for a row that cannot be an entity.
    package static func make(_ schema: DatasetSchema, _ give: (any EntitySink) throws -> Void) throws -> String? {
        let encoder = EntityEncoder(SchemaPlan(schema)), buffer = ByteBuffer()
        var text: String?
        try give(
            RowSink { values in
                buffer.clear()
                try encoder.encode(values, into: buffer)
                text = String(decoding: buffer.bytes, as: UTF8.self)
            })
        return text
    }

    /// Parses a text as an entity and passes it to the sinks.
    ///
    /// - Returns: the names of fields that the schema does not have, which were skipped.
    /// - Throws: ``SyncError`` with `.badEntity` if the text is not exactly one entity of the schema; what a sink throws.
    @discardableResult
    package static func send(_ text: String, of schema: DatasetSchema, to sinks: any EntitySink...) throws -> Set<String> {
        try read(text, of: schema) { block in
            for sink in sinks { try block.send(to: sink) }
            return block.unknownFieldNames
        }
    }

    /// A description with the fields that entities have beyond it, such as columns that are no longer synced, and others. Texts that are no entities of
    /// it add none.
    ///
    /// - Parameter others: the names of further columns.
    package static func widened(_ schema: DatasetSchema, for texts: [String], adding others: Set<ExactText> = []) throws -> DatasetSchema {
        let plain = schema.withoutShapes
        let fields = texts.reduce(into: others) { $0.formUnion(((try? send($1, of: plain)) ?? []).map(\.exact)) }
        let added = fields.subtracting(schema.columns.map(\.name.exact)).sorted()
        return added.isEmpty ? schema : try schema.with(columns: schema.columns + added.map { DatasetColumn($0.text, isOptional: true) })
    }

    /// Parses a text as an entity and passes it on as a block.
    ///
    /// - Throws: ``SyncError`` as ``send(_:of:to:)`` does; what `body` throws.
    package static func read<T>(_ text: String, of schema: DatasetSchema, _ body: (EntityBlock) throws -> T) throws -> T {
        let reader = EntityReader(schema)
        var text = text
        _ = try text.withUTF8 { try reader.read(UnsafeRawBufferPointer($0), at: "\(schema.name), an entity") }
        return try withExtendedLifetime(reader) { try body(reader.block) }
    }
}

/// Parses entities that stand alone, one at a time.
final class EntityReader {
    /// The entity that was read last.
    let block = EntityBlock()
    private let plan: SchemaPlan
    private let parser: EntityParser

    init(_ schema: DatasetSchema) {
        plan = SchemaPlan(schema)
        parser = EntityParser(plan, isForeign: false)
    }

    /// Parses one entity and returns its key.
    ///
    /// - Throws: ``SyncError`` with `.badEntity` if the bytes are not exactly one entity of the schema.
    func read(_ bytes: UnsafeRawBufferPointer, at place: String) throws -> EntityKey {
        block.raw.clear()
        block.raw.append(bytes)
        block.begin(columnCount: plan.count)
        block.raw.seal()
        guard UTF8Check.firstFault(in: bytes) == nil else { throw SyncError(format: .badEntity, at: place, "it is not UTF-8") }
        let scanner = JSONScanner(block.raw.bytes)
        do throws(EntityFault) {
            let end = try parser.parse(scanner, at: 0, into: block)
            guard end == block.raw.count else { throw EntityFault("text stands behind the entity") }
        } catch {
            throw SyncError(format: .badEntity, at: place + (error.column.map { ", column \(plan.name($0))" } ?? ""), error.reason)
        }
        guard block.parseKey(plan, parser, ordered: false) == nil, let key = block.firstKey else {
            throw SyncError(format: .badEntity, at: place, "the key is longer than \(FormatLimits.keyBytes) bytes")
        }
        return key
    }
}

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

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        separate()
        try encoder.encode(values, into: buffer)
    }

    /// Appends the JSON of a snapshot's block as it is, which begins with the block's separator.
    package func append(block number: Int, json: UnsafeRawBufferPointer) {
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
