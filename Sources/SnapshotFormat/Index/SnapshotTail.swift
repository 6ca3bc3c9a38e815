package import SnapshotModel
package import StrictText

/// The tail of a snapshot asset: the array's end, tombstones and instants if there are any, and the container's end.
///
/// Shape: `\n]`, `,"deletions":[{"id":…,"deletedAt":"…"},…]`, `,"instants":[{"id":…,"at":"…"},…]`, `}\n`; the two lists are left
/// out when they are empty, and their keys ascend strictly. In version 2 an instant may be that of a run of entities,
/// `{"from":…,"to":…,"at":"…"}`. Source: docs/format.md, "The tail".
package struct SnapshotTail: Hashable, Sendable {
    /// The number of tombstones.
    package let deletionCount: Int
    /// The number of entities whose instant differs from their own timestamp, those of runs left out.
    package let instantCount: Int
    /// The number of runs of entities that have one instant.
    package let runCount: Int

    /// Takes what a tail holds, in key order within each list.
    package struct Visitor {
        let deletion: (EntityKey, Instant) throws -> Void
        let instant: (EntityKey, Instant) throws -> Void
        let run: (InstantRun) throws -> Void

        package init(
            deletion: @escaping (EntityKey, Instant) throws -> Void, instant: @escaping (EntityKey, Instant) throws -> Void,
            run: @escaping (InstantRun) throws -> Void
        ) {
            self.deletion = deletion
            self.instant = instant
            self.run = run
        }
    }

    /// The text of a tail without lists.
    package static let emptyText = "\n]}\n"

    /// Walks the text of an index's tail from end to end, to the byte as the format has it, and counts what it holds. Memory: one key.
    ///
    /// - Throws: ``FormatError`` with `.truncated`, `.damaged` or `.outOfOrder`.
    package static func check(_ bytes: UnsafeRawBufferPointer, of index: SnapshotIndex) throws -> SnapshotTail {
        try read(bytes, of: index, Visitor(deletion: { _, _ in }, instant: { _, _ in }, run: { _ in }))
    }

    /// Walks the text of an index's tail as ``check(_:of:)`` does, and hands over what it holds.
    package static func read(_ bytes: UnsafeRawBufferPointer, of index: SnapshotIndex, _ visitor: Visitor) throws -> SnapshotTail {
        let tail = try read(bytes, keyShape: index.keyShape, hasRuns: index.formatVersion >= 2, visitor)
        guard tail.runCount > 0 || index.formatVersion == index.describedVersion else {
            throw FormatError(.damaged, at: "tail", "the index names a later format version than its contents need")
        }
        return tail
    }

    /// Walks a tail's text.
    ///
    /// - Parameter hasRuns: whether the format version has runs; a change asset never does.
    package static func read(_ bytes: UnsafeRawBufferPointer, keyShape: KeyShape, hasRuns: Bool, _ visitor: Visitor) throws -> SnapshotTail {
        var reader = LiteralReader(bytes, place: "tail")
        try reader.expect("\n]")
        var deletions = 0, instants = 0, runs = 0
        if reader.accept(",\"deletions\":[") { deletions = try list(&reader, ",\"deletedAt\":", keyShape, run: nil, visitor.deletion).single }
        if reader.accept(",\"instants\":[") {
            (instants, runs) = try list(&reader, ",\"at\":", keyShape, run: hasRuns ? visitor.run : nil, visitor.instant)
        }
        try reader.expect("}\n")
        try reader.expectEnd()
        return SnapshotTail(deletionCount: deletions, instantCount: instants, runCount: runs)
    }

    private static func list(
        _ reader: inout LiteralReader, _ label: StaticString, _ keyShape: KeyShape, run takeRun: ((InstantRun) throws -> Void)?,
        _ take: (EntityKey, Instant) throws -> Void
    ) throws -> (single: Int, runs: Int) {
        var count = 0, runs = 0
        var last: EntityKey?
        func key(_ reader: inout LiteralReader) throws -> EntityKey {
            let key = try reader.key()
            guard keyShape.accepts(key), key.byteCount <= FormatLimits.keyBytes else { throw reader.damage("the id is not a key") }
            if let last, !(last < key) {
                throw FormatError(.outOfOrder, at: "tail, byte \(reader.position)", "an id does not come after the one before")
            }
            last = key
            return key
        }
        repeat {
            if let takeRun, reader.accept("{\"from\":") {
                let first = try key(&reader)
                try reader.expect(",\"to\":")
                let end = try key(&reader)
                try reader.expect(label)
                try takeRun(InstantRun(first: first, last: end, at: try reader.instant()))
                runs += 1
            } else {
                try reader.expect("{\"id\":")
                let id = try key(&reader)
                try reader.expect(label)
                try take(id, try reader.instant())
                count += 1
            }
            try reader.expect("}")
        } while reader.accept(",")
        try reader.expect("]")
        return (count, runs)
    }
}
