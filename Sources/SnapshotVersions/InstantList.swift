package import LocalStore
package import SnapshotFormat
package import SnapshotModel
import StrictText

extension SnapshotTailBuilder {
    /// Adds the instants of the entities of a database's next version: each by its key, or, where there are so many that the list would be megabytes, those
    /// of consecutive entities as runs.
    ///
    /// - Parameter limit: the bytes of a list of single entities beyond which runs are made.
    package mutating func addInstants(of schema: DatasetSchema, in transaction: LocalTransaction, joiningBeyond limit: Int = plainByteLimit) throws {
        try transaction.tombstonesAndInstants.forEachInstant(of: schema) {
            addInstant($1, of: $0)
            return instantByteCount <= limit
        }
        guard instantByteCount > limit else { return }
        removeInstants()
        var joiner = InstantRunJoiner()
        try transaction.tombstonesAndInstants.forEachEntity(of: schema) { joiner.take($0, at: $1, into: &self) }
        joiner.finish(into: &self)
    }

    /// Adds the instants of a table that was written whole, in the same form.
    package mutating func addInstants(
        of rewritten: RewrittenTable, of schema: DatasetSchema, in transaction: LocalTransaction, joiningBeyond limit: Int = plainByteLimit
    ) throws {
        guard let common = rewritten.common else {
            for (key, at) in rewritten.instants { if let at { addInstant(at, of: key) } }
            return
        }
        let tail = transaction.tombstonesAndInstants
        if rewritten.rowCount - rewritten.instants.count <= limit / Self.leastInstantBytes {
            try tail.forEachEntity(of: schema, in: rewritten) { key, at in
                if let at, instantByteCount <= limit { addInstant(at, of: key) }
            }
            if instantByteCount <= limit { return }
            removeInstants()
        }
        var joiner = InstantRunJoiner()
        if rewritten.instants.isEmpty {
            // One run from end to end, without a look at the keys between.
            for key in try tail.firstAndLastKey(of: schema) { joiner.take(key, at: common, into: &self) }
        } else {
            try tail.forEachEntity(of: schema, in: rewritten) { joiner.take($0, at: $1, into: &self) }
        }
        joiner.finish(into: &self)
    }

    /// What the instant of a single entity takes at least: `{"id":1,"at":"2026-01-01T00:00:00Z"},`.
    private static let leastInstantBytes = 37
}
