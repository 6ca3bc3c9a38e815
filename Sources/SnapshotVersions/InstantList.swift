package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import StrictText

extension SnapshotTailBuilder {
    /// Adds the instants of the entities of the database's next version. Each is stored by key; if that list would exceed the limit, instants
    /// that consecutive entities share are stored as runs.
    ///
    /// - Parameter limit: the size of the list of single entities, in bytes, above which runs are made.
    package mutating func addInstants(of schema: DatasetSchema, in transaction: LocalTransaction, joiningBeyond limit: Int = plainByteLimit) throws {
        try transaction.tombstonesAndInstants.forEachInstant(of: schema) {
            add(.row, $1, of: $0)
            return instantByteCount <= limit
        }
        guard instantByteCount > limit else { return }
        removeInstants()
        var joiner = InstantRunJoiner(.row)
        try transaction.tombstonesAndInstants.forEachEntity(of: schema) { joiner.take($0, Self.entry($1), into: &self) }
        joiner.finish(into: &self)
    }

    /// Adds the instants of a table whose rows were all rewritten, in the same form.
    package mutating func addInstants(
        of rewritten: RewrittenTable, of schema: DatasetSchema, in transaction: LocalTransaction, joiningBeyond limit: Int = plainByteLimit
    ) throws {
        guard let common = rewritten.common else {
            for (key, at) in rewritten.instants { if let at { add(.row, at, of: key) } }
            return
        }
        let tail = transaction.tombstonesAndInstants
        if rewritten.rowCount - rewritten.instants.count <= limit / Self.leastInstantBytes {
            try tail.forEachEntity(of: schema, in: rewritten) { key, at in
                if let at, instantByteCount <= limit { add(.row, at, of: key) }
            }
            if instantByteCount <= limit { return }
            removeInstants()
        }
        var joiner = InstantRunJoiner(.row)
        if rewritten.instants.isEmpty {
            // All entities share one instant, so a single run covers them; the keys in between are not read.
            for key in try tail.firstAndLastKey(of: schema) { joiner.take(key, .at(common), into: &self) }
        } else {
            try tail.forEachEntity(of: schema, in: rewritten) { joiner.take($0, Self.entry($1), into: &self) }
        }
        joiner.finish(into: &self)
    }

    private static func entry(_ at: Instant?) -> InstantRunJoiner.Entry { at.map { .at($0) } ?? .none }

    /// The minimum size of a single entity's instant: `{"id":1,"at":"2026-01-01T00:00:00Z"},`.
    private static let leastInstantBytes = 37
}

extension SnapshotTail.Visitor {
    /// Stores what a version states of its entities in the database.
    package static func storing(in transaction: LocalTransaction, of schema: DatasetSchema) -> SnapshotTail.Visitor {
        .init(
            deletion: { try transaction.tombstonesAndInstants.addTombstone(of: $0, at: $1, in: schema) },
            instant: { part, key, at in if part == .row, let at { try transaction.tombstonesAndInstants.addInstant(at, of: key, in: schema) } })
    }
}
