import Synchronization

/// Answers that follow from the schema alone, and hold until it changes.
///
/// A small run asks the same few questions in each of its forty transactions.
final class SchemaFacts: Sendable {
    private struct Known {
        var schemaVersion: Int64 = -1
        /// A list, because the first dictionary of a type costs more than looking through a few names.
        var facts: [(name: String, isTrue: Bool)] = []
    }

    private let known = Mutex(Known())

    /// The answer to a question; nil if it is not known for this version of the schema.
    func answer(_ name: String, in schemaVersion: Int64) -> Bool? {
        known.withLock { known in known.schemaVersion == schemaVersion ? known.facts.first { $0.name == name }?.isTrue : nil }
    }

    /// Notes an answer. The version must be one that was committed: after a rollback, another change of the schema gets the same number.
    func record(_ name: String, _ isTrue: Bool, in schemaVersion: Int64) {
        known.withLock {
            if $0.schemaVersion != schemaVersion { $0 = Known(schemaVersion: schemaVersion) }
            $0.facts.append((name, isTrue))
        }
    }
}
