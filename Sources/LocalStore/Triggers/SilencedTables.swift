import StrictText
import Synchronization

/// The tables whose triggers rolled a whole transaction back with `RAISE(ROLLBACK)`, which nothing inside the transaction can prevent.
///
/// When the transaction is retried, the triggers of these tables are off.
final class SilencedTables: Sendable {
    private let reasons = Mutex<[ExactText: String]>([:])

    /// Adds a table, by its folded name, and what happened.
    func add(_ table: ExactText, _ reason: String) { reasons.withLock { $0[table] = reason } }

    /// What happened at a table; nil if nothing did.
    func reason(_ table: ExactText) -> String? { reasons.withLock { $0[table] } }
}

/// A trigger has rolled back the transaction that puts other devices' edits on the tables: it refuses one of them.
package struct EditRollback: Error {
    /// What rolled it back, in words.
    package let reason: String
}

/// A trigger has rolled the transaction back. Its table has been added to ``SilencedTables``, so that a retry gets further.
struct TriggerRollback: Error {
    /// The name that stands for all tables that are not datasets' tables.
    static let otherTables: ExactText = ""
}
