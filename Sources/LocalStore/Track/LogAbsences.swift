import Synchronization

/// Up to which number the change log is known to have no entry of a dataset.
///
/// Entries are added with ever greater numbers, so such a fact holds as long as the table does: until the schema changes.
final class LogAbsences: Sendable {
    private struct Known {
        var schemaVersion: Int64 = 0
        var last: [Int64: Int64] = [:]
    }

    private let known = Mutex(Known())

    /// The number; nil where nothing is known.
    ///
    /// - Parameter schemaVersion: the database's, now.
    func last(of id: Int64, in schemaVersion: Int64) -> Int64? { known.withLock { $0.schemaVersion == schemaVersion ? $0.last[id] : nil } }

    /// Notes that the log has no entry of a dataset up to a number.
    func record(_ id: Int64, upTo last: Int64, in schemaVersion: Int64) {
        known.withLock {
            if $0.schemaVersion != schemaVersion { $0 = Known(schemaVersion: schemaVersion) }
            $0.last[id] = last
        }
    }
}
