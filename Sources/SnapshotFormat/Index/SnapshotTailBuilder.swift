package import SnapshotModel
package import StrictText

/// Collects the tombstones and instants of a snapshot and makes its tail.
///
///     var tail = SnapshotTailBuilder()
///     try tail.addDeletion(of: key, at: instant)       // in key order
///     let index = try assembly.end(tail)
///
/// Memory: the tail's text, at most ``FormatLimits/tailRawBytes``. Source: docs/format.md, "The tail".
package struct SnapshotTailBuilder {
    /// The size of the list of instants, in bytes, above which a writer makes runs of entities.
    package static let plainByteLimit = 4 << 20

    private var deletions: [UInt8] = []
    private var instants: [UInt8] = []
    /// The length of the list of instants, in bytes.
    package var instantByteCount: Int { instants.count }

    /// Makes an empty tail.
    package init() {}

    /// Adds a tombstone. Keys must come in ascending order.
    package mutating func addDeletion(of key: EntityKey, at instant: Instant) {
        Self.add(key, ",\"deletedAt\":\"", instant, to: &deletions)
    }

    /// Adds the instant of an entity whose own timestamp differs from it. Keys must come in ascending order.
    package mutating func addInstant(_ instant: Instant, of key: EntityKey) {
        Self.add(key, ",\"at\":\"", instant, to: &instants)
    }

    /// Adds the instant of a run of entities. Keys must come in ascending order.
    package mutating func addInstant(of run: InstantRun) {
        instants += (instants.isEmpty ? "{\"from\":" : ",{\"from\":").utf8
        Self.add(run.first, to: &instants)
        instants += ",\"to\":".utf8
        Self.add(run.last, to: &instants)
        Self.end(",\"at\":\"", run.at, &instants)
    }

    /// Removes all instants, so that they can be added again as runs.
    package mutating func removeInstants() { instants = [] }

    /// The length of the tail's text, in bytes.
    package var byteCount: Int { parts.reduce(2 + 2) { $0 + $1.0.utf8.count + $1.1.count + 6 } }

    private var parts: [(String, [UInt8])] { [("deletions", deletions), ("instants", instants)].filter { !$0.1.isEmpty } }

    /// The tail's text.
    ///
    /// - Throws: ``FormatError`` with `.tooLarge`.
    package func text() throws -> ByteBuffer {
        let parts = parts, count = byteCount
        guard count <= FormatLimits.tailRawBytes else {
            throw FormatError(
                .tooLarge, at: "tail", "the tombstones and instants are larger than \(FormatLimits.tailRawBytes >> 20) MiB",
                hint: "sync more often while rows are deleted, or have the application set the timestamp column whenever it changes a row")
        }
        // Allocate the full size at once, so that megabytes are copied only once.
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
        add(key, to: &list)
        end(label, instant, &list)
    }

    private static func add(_ key: EntityKey, to list: inout [UInt8]) {
        if case .integer(let value) = key {
            list += String(value).utf8
        } else {
            let buffer = ByteBuffer(capacity: key.byteCount * 6 + 2)
            var cursor = ByteCursor(buffer)
            cursor.append(key: key)
            cursor.finish()
            buffer.withBytes { list += $0 }
        }
    }

    private static func end(_ label: String, _ instant: Instant, _ list: inout [UInt8]) {
        list += label.utf8
        list += instant.description.utf8
        list += "\"}".utf8
    }
}
