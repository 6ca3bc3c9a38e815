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
}
