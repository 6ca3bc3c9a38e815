package import SnapshotModel
package import StrictText

/// The tail of a snapshot asset: the array's end, tombstones and instants if there are any, and the container's end.
///
/// Shape: `\n]`, `,"deletions":[{"id":…,"deletedAt":"…"},…]`, `,"instants":[{"id":…,"at":"…"},…]`, `}\n`; the two lists are left
/// out when they are empty, and their keys ascend strictly. Source: docs/format.md, "The tail".
package struct SnapshotTail: Hashable, Sendable {
    /// The number of tombstones.
    package let deletionCount: Int
    /// The number of entities whose instant differs from their own timestamp.
    package let instantCount: Int

    /// The text of a tail without lists.
    package static let emptyText = "\n]}\n"

    /// Walks a tail's text from end to end, to the byte as version 1 writes it, and counts what it holds. Memory: one key.
    ///
    /// - Throws: ``FormatError`` with `.truncated`, `.damaged` or `.outOfOrder`.
    package static func check(_ bytes: UnsafeRawBufferPointer, keyShape: KeyShape) throws -> SnapshotTail {
        try read(bytes, keyShape: keyShape, deletion: { _, _ in }, instant: { _, _ in })
    }

    /// Walks a tail's text as ``check(_:keyShape:)`` does, and hands over each tombstone and each entity's instant, in key order.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, keyShape: KeyShape, deletion: (EntityKey, Instant) throws -> Void, instant: (EntityKey, Instant) throws -> Void
    ) throws -> SnapshotTail {
        var reader = LiteralReader(bytes, place: "tail")
        try reader.expect("\n]")
        var deletions = 0, instants = 0
        if reader.accept(",\"deletions\":[") { deletions = try list(&reader, ",\"deletedAt\":", keyShape, deletion) }
        if reader.accept(",\"instants\":[") { instants = try list(&reader, ",\"at\":", keyShape, instant) }
        try reader.expect("}\n")
        try reader.expectEnd()
        return SnapshotTail(deletionCount: deletions, instantCount: instants)
    }

    private static func list(
        _ reader: inout LiteralReader, _ label: StaticString, _ keyShape: KeyShape, _ take: (EntityKey, Instant) throws -> Void
    ) throws -> Int {
        var count = 0
        var last: EntityKey?
        repeat {
            try reader.expect("{\"id\":")
            let key = try reader.key()
            guard keyShape.accepts(key), key.byteCount <= FormatLimits.keyBytes else { throw reader.damage("the id is not a key") }
            if let last, !(last < key) {
                throw FormatError(.outOfOrder, at: "tail, byte \(reader.position)", "an id does not come after the one before")
            }
            last = key
            try reader.expect(label)
            try take(key, try reader.instant())
            try reader.expect("}")
            count += 1
        } while reader.accept(",")
        try reader.expect("]")
        return count
    }
}
