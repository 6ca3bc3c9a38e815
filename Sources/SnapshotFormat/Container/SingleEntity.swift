package import SnapshotModel
internal import StrictText

/// One entity's JSON by itself, outside any container.
package enum SingleEntity {
    /// Gives the entity that a text is to sinks.
    ///
    /// - Returns: the names of fields that the schema does not know, which were left out.
    /// - Throws: ``FormatError`` with `.badEntity` if it is not exactly one entity of the schema; what a sink throws.
    package static func give(_ text: String, of schema: DatasetSchema, to sinks: [any EntitySink]) throws -> Set<String> {
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
        if plan.hasTextKey, block.text(at: parser.keySlot).count > FormatLimits.keyBytes {
            throw FormatError(.badEntity, at: "\(schema.name), an entity", "the key is longer than \(FormatLimits.keyBytes) bytes")
        }
        if plan.hasEncodedKey {
            var key: [UInt8] = []
            guard block.takeEncodedKey(plan.keyShape, from: parser.firstSlot, isFirst: true, ordered: false, using: &key) == nil else {
                throw FormatError(.badEntity, at: "\(schema.name), an entity", "the key is longer than \(FormatLimits.keyBytes) bytes")
            }
        }
        for sink in sinks { try withExtendedLifetime(block) { try block.give(to: sink) } }
        return block.unknownFieldNames
    }
}
