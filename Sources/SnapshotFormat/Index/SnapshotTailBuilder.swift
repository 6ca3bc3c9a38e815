package import SnapshotModel
package import StrictText

/// Collects the tombstones and instants of a snapshot and makes its tail of them.
///
///     var tail = SnapshotTailBuilder()
///     try tail.addDeletion(of: key, at: instant)       // in key order
///     let index = try assembly.end(tail)
///
/// Memory: the tail's text, at most ``FormatLimits/tailRawBytes``. Source: docs/format.md, "The tail".
package struct SnapshotTailBuilder {
    private var deletions: [UInt8] = []
    private var instants: [UInt8] = []

    /// Makes an empty tail.
    package init() {}

    /// Adds a tombstone. Keys must come in ascending order.
    package mutating func addDeletion(of key: EntityKey, at instant: Instant) {
        Self.add(key, ",\"deletedAt\":\"", instant, to: &deletions)
    }

    /// Adds the instant of an entity whose own timestamp says another. Keys must come in ascending order.
    package mutating func addInstant(_ instant: Instant, of key: EntityKey) {
        Self.add(key, ",\"at\":\"", instant, to: &instants)
    }

    /// The tail's text.
    ///
    /// - Throws: ``FormatError`` with `.tooLarge`.
    package func text() throws -> ByteBuffer {
        let parts = [("deletions", deletions), ("instants", instants)].filter { !$0.1.isEmpty }
        let count = parts.reduce(2 + 2) { $0 + $1.0.utf8.count + $1.1.count + 6 }
        guard count <= FormatLimits.tailRawBytes else {
            throw FormatError(
                .tooLarge, at: "tail", "the tombstones and instants are larger than \(FormatLimits.tailRawBytes >> 20) MiB",
                hint: "have the application set the timestamp column whenever it changes a row")
        }
        // One copy of what may be megabytes.
        let buffer = ByteBuffer(capacity: count)
        func append(_ text: StaticString) { text.withUTF8Buffer { buffer.append(UnsafeRawBufferPointer($0)) } }
        append("\n]")
        for (name, list) in parts {
            append(",\"")
            var name = name
            name.withUTF8 { buffer.append(UnsafeRawBufferPointer($0)) }
            append("\":[")
            list.withUnsafeBytes { buffer.append($0) }
            append("]")
        }
        append("}\n")
        return buffer
    }

    private static func add(_ key: EntityKey, _ label: String, _ instant: Instant, to list: inout [UInt8]) {
        list += (list.isEmpty ? "{\"id\":" : ",{\"id\":").utf8
        if case .integer(let value) = key {
            list += String(value).utf8
        } else {
            let buffer = ByteBuffer(capacity: key.byteCount * 6 + 2)
            var cursor = ByteCursor(buffer)
            cursor.append(key: key)
            cursor.finish()
            buffer.withBytes { list += $0 }
        }
        list += label.utf8
        list += instant.description.utf8
        list += "\"}".utf8
    }
}
