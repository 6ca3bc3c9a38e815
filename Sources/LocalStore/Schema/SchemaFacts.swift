import Synchronization

/// What is known of a database as long as its schema does not change.
///
/// Answers that follow from the schema alone, which a small run asks for in each of its forty transactions; and up to which number the change log
/// has no entry of a dataset: entries are added with ever greater numbers, so that holds as long as the table does.
final class SchemaFacts: Sendable {
    private struct Known {
        var schemaVersion: Int64 = -1
        /// A list, because the first dictionary of a type costs more than looking through a few names.
        var facts: [(name: String, value: Int64)] = []
    }

    private let known = Mutex(Known())

    /// What is known under that name for this version of the schema; nil if nothing is.
    func value(_ name: String, in schemaVersion: Int64) -> Int64? {
        known.withLock { known in known.schemaVersion == schemaVersion ? known.facts.first { $0.name == name }?.value : nil }
    }

    /// Notes a fact. The version must be one that was committed: after a rollback, another change of the schema gets the same number.
    func record(_ name: String, _ value: Int64, in schemaVersion: Int64) {
        known.withLock {
            if $0.schemaVersion != schemaVersion { $0 = Known(schemaVersion: schemaVersion) }
            $0.facts.removeAll { $0.name == name }
            $0.facts.append((name, value))
        }
    }
}
