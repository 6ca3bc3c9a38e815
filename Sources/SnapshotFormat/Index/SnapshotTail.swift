package import SnapshotModel
package import StrictText

/// The tail of a snapshot asset: the array's end, tombstones and instants if there are any, and the container's end.
///
/// Layout: `\n]`, `,"deletions":[{"id":…,"deletedAt":"…"},…]`, `,"instants":[{"id":…,"at":"…"},…]`, `}\n`. A list is omitted if it is empty; the
/// keys in a list ascend strictly. An instant may belong to a run of entities, `{"from":…,"to":…,"at":"…"}`. Source:
/// docs/format.md, "The tail".
package struct SnapshotTail: Hashable, Sendable {
    /// The number of tombstones.
    package let deletionCount: Int
    /// The number of entities whose instant differs from their own timestamp, without those in runs.
    package let instantCount: Int
    /// The number of runs of entities with the same instant.
    package let runCount: Int

    /// Receives the contents of a tail, in key order within each list.
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

    /// Parses the whole tail of an index's asset, which must be canonical to the byte, and counts its contents. Memory: one key.
    ///
    /// - Throws: ``FormatError`` with `.truncated`, `.damaged` or `.outOfOrder`.
    package static func check(_ bytes: UnsafeRawBufferPointer, of index: SnapshotIndex) throws -> SnapshotTail {
        try read(bytes, of: index, Visitor(deletion: { _, _ in }, instant: { _, _ in }, run: { _ in }))
    }

    /// Parses the tail of an index's asset like ``check(_:of:)``, and passes its contents to the visitor.
    package static func read(_ bytes: UnsafeRawBufferPointer, of index: SnapshotIndex, _ visitor: Visitor) throws -> SnapshotTail {
        try read(bytes, keyShape: index.keyShape, hasRuns: true, visitor)
    }

    /// Parses a tail's text.
    ///
    /// - Parameter hasRuns: whether runs may occur; a change asset never has any.
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
