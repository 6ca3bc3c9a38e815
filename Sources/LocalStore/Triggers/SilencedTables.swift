import Synchronization

/// The tables whose triggers have rolled a whole transaction back: `RAISE(ROLLBACK)`, which nothing inside the transaction can stop.
///
/// When the transaction is run again, their triggers are off.
final class SilencedTables: Sendable {
    private let reasons = Mutex<[String: String]>([:])

    /// Notes a table, in lower case, and what happened.
    func add(_ table: String, _ reason: String) { reasons.withLock { $0[table] = reason } }

    /// What happened at a table; nil where nothing did.
    func reason(_ table: String) -> String? { reasons.withLock { $0[table] } }
}

/// A trigger has rolled the transaction back. The table is among the ``SilencedTables`` now, so that another attempt gets further.
struct TriggerRollback: Error {
    /// The name that stands for the triggers of all tables that are not datasets'.
    static let otherTables = ""
}
