import Synchronization

/// Up to which number the change log is known to have no entry of a dataset.
///
/// Entries are added with ever greater numbers, so such a fact holds as long as the table does: until the schema changes.
final class LogAbsences: Sendable {
    private struct Known {
        var schemaVersion: Int64 = 0
        /// A list, because the first dictionary of a type costs more than looking through a few numbers.
        var last: [(id: Int64, last: Int64)] = []
    }

    private let known = Mutex(Known())

    /// The number; nil where nothing is known.
    ///
    /// - Parameter schemaVersion: the database's, now.
    func last(of id: Int64, in schemaVersion: Int64) -> Int64? {
        known.withLock { known in known.schemaVersion == schemaVersion ? known.last.first { $0.id == id }?.last : nil }
    }

    /// Notes that the log has no entry of a dataset up to a number.
    func record(_ id: Int64, upTo last: Int64, in schemaVersion: Int64) {
        known.withLock {
            if $0.schemaVersion != schemaVersion { $0 = Known(schemaVersion: schemaVersion) }
            $0.last.removeAll { $0.id == id }
            $0.last.append((id, last))
        }
    }
}
