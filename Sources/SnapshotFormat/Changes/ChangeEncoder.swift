package import SnapshotModel
package import StrictText

/// Encodes a change asset's JSON: the container's layout, with only the entities that one commit changed.
///
///     let encoder = ChangeEncoder(schema: schema, syncTimestamp: now, after: "00000000000000000002-c13a870d")
///     try rows.send(to: encoder)                       // in key order
///     let text = try encoder.end(tail)                 // tombstones and instants of the changes
///     let member = try MemberCompressor(boxes: asset.boxes).compress(text.bytes)
///
/// Layout: head, entities and tail as in a snapshot asset, in one gzip member. Memory: the text, at most ``FormatLimits/changeRawBytes``.
/// Source: docs/format.md, "Change assets".
package final class ChangeEncoder: EntitySink {
    /// The number of entities so far.
    package private(set) var count = 0
    /// The columns of the next entity that changed, by their positions; nil if it is written whole.
    package var changed: Set<Int>?
    private let tailForm: SnapshotTail.Form
    private let plan: SchemaPlan
    private let entities: EntityEncoder
    private let partial: EntityEncoder
    private let text = ByteBuffer()
    private let last = LastKey()
    private var keyBytes: [UInt8] = []

    /// Begins a change asset.
    ///
    /// - Parameter after: the name of the asset that the version before ends with.
    package init(schema: DatasetSchema, syncTimestamp: Instant, after: String) {
        tailForm = SnapshotTail.Form(schema, columns: nil, at: syncTimestamp)
        plan = SchemaPlan(schema)
        entities = EntityEncoder(plan)
        partial = EntityEncoder(SchemaPlan(schema.partial))
        var head = SnapshotHeader(syncTimestamp: syncTimestamp, dataset: schema.name, after: after).text
        head.withUTF8 { text.append(UnsafeRawBufferPointer($0)) }
    }

    /// The length of the JSON so far, in bytes.
    package var rawByteCount: Int { text.count }

    /// Takes the next changed entity. Its key must be greater than the previous one.
    ///
    /// - Throws: ``SyncError`` with `.badRow`, `.outOfOrder` or `.tooLarge`.
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        try entities.withKey(values, using: &keyBytes) { key in
            guard last.isBefore(key) else {
                throw SyncError(format: .misuse, at: entities.place(values, plan.keyIndex), "the key does not come after the one before")
            }
            var cursor = ByteCursor(text)
            cursor.append(count == 0 ? "\n" : ",\n")
            cursor.finish()
            if let changed { try receive(values, changed) } else { try entities.encode(values, into: text) }
            last.remember(key)
        }
        count += 1
    }

    private func receive(_ values: UnsafeBufferPointer<ColumnValue>, _ changed: Set<Int>) throws {
        func append(_ body: (inout ByteCursor) -> Void) {
            var cursor = ByteCursor(text)
            body(&cursor)
            cursor.finish()
        }
        append { $0.append(UInt8(ascii: "[")) }
        let named = values.indices.map { plan.columns[$0].isKey || changed.contains($0) ? values[$0] : .null }
        try named.withUnsafeBufferPointer { try partial.encode($0, into: text) }
        for index in changed.sorted() where values[index].isNull {
            let column = plan.columns[index]
            guard column.isOptional else { throw entities.nullFault(values, index) }
            // The label is the name in quotes, and a colon.
            append {
                $0.append(UInt8(ascii: ","))
                $0.append(words: column.label, length: column.labelLength - 1)
            }
        }
        append { $0.append(UInt8(ascii: "]")) }
    }

    /// Completes the JSON with the commit's tombstones and instants, and returns it.
    ///
    /// - Throws: ``SyncError`` with `.tooLarge`, or `.badRow` if no device could read the tail.
    package func end(_ tail: SnapshotTailBuilder) throws -> ByteBuffer {
        try tail.text(readAs: tailForm).withBytes { text.append($0) }
        guard text.count <= FormatLimits.changeRawBytes else {
            throw SyncError(
                format: .tooLarge, at: plan.schema.name, "the changes are more than \(FormatLimits.changeRawBytes >> 20) MiB of JSON",
                hint: "write a snapshot asset")
        }
        return text
    }
}
