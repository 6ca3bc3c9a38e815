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
        var text = Array("\n]".utf8)
        if !deletions.isEmpty { text += Array(",\"deletions\":[".utf8) + deletions + Array("]".utf8) }
        if !instants.isEmpty { text += Array(",\"instants\":[".utf8) + instants + Array("]".utf8) }
        text += Array("}\n".utf8)
        guard text.count <= FormatLimits.tailRawBytes else {
            throw FormatError(
                .tooLarge, at: "tail", "the tombstones and instants are larger than \(FormatLimits.tailRawBytes >> 20) MiB",
                hint: "have the application set the timestamp column whenever it changes a row")
        }
        let buffer = ByteBuffer(capacity: text.count)
        text.withUnsafeBytes { buffer.append($0) }
        return buffer
    }

    private static func add(_ key: EntityKey, _ label: String, _ instant: Instant, to list: inout [UInt8]) {
        list += Array((list.isEmpty ? "{\"id\":" : ",{\"id\":").utf8)
        if case .integer(let value) = key {
            list += Array(String(value).utf8)
        } else {
            let buffer = ByteBuffer(capacity: key.byteCount * 6 + 2)
            var cursor = ByteCursor(buffer)
            cursor.append(key: key)
            cursor.finish()
            buffer.withBytes { list += $0 }
        }
        list += Array((label + instant.description + "\"}").utf8)
    }
}
