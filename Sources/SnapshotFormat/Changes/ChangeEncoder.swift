package import SnapshotModel
package import StrictText

/// Encodes a change asset's JSON: the container's layout, with only the entities that one commit changed.
///
///     let encoder = ChangeEncoder(schema: schema, syncTimestamp: now)
///     try rows.give(to: encoder)                       // in key order
///     let text = try encoder.end(tail)                 // tombstones and instants of the changes
///     let member = try MemberCompressor(boxes: asset.boxes).compress(text.bytes)
///
/// Layout: head, entities and tail as in a snapshot asset, in one gzip member. Memory: the text, at most ``FormatLimits/changeRawBytes``.
/// Source: docs/format.md, "Change assets".
package final class ChangeEncoder: EntitySink {
    /// The number of entities so far.
    package private(set) var count = 0
    private let plan: SchemaPlan
    private let entities: EntityEncoder
    private let text = ByteBuffer()
    private let last = LastKey()
    private var keyBytes: [UInt8] = []

    /// Begins a change asset.
    package init(schema: DatasetSchema, syncTimestamp: Instant) {
        plan = SchemaPlan(schema)
        entities = EntityEncoder(plan)
        var head = SnapshotHeader(syncTimestamp: syncTimestamp, dataset: schema.name).text
        head.withUTF8 { text.append(UnsafeRawBufferPointer($0)) }
    }

    /// The length of the JSON so far, in bytes.
    package var rawByteCount: Int { text.count }

    /// Takes the next changed entity. Its key must be greater than the previous one.
    ///
    /// - Throws: ``FormatError`` with `.badRow`, `.outOfOrder` or `.tooLarge`.
    package func take(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        try entities.withKey(values, using: &keyBytes) { key in
            guard last.isBefore(key) else {
                throw FormatError(.misuse, at: entities.place(values, plan.keyIndex), "the key does not come after the one before")
            }
            var cursor = ByteCursor(text)
            cursor.append(count == 0 ? "\n" : ",\n")
            cursor.finish()
            try entities.encode(values, into: text)
            last.remember(key)
        }
        count += 1
    }

    /// Completes the JSON with the commit's tombstones and instants, and returns it.
    ///
    /// - Throws: ``FormatError`` with `.tooLarge`.
    package func end(_ tail: SnapshotTailBuilder) throws -> ByteBuffer {
        try tail.text().withBytes { text.append($0) }
        guard text.count <= FormatLimits.changeRawBytes else {
            throw FormatError(
                .tooLarge, at: plan.schema.name, "the changes are more than \(FormatLimits.changeRawBytes >> 20) MiB of JSON", hint: "write a snapshot asset")
        }
        return text
    }
}
