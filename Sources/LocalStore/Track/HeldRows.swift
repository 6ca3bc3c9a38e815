import GRDB
import LocalTables
package import SnapshotModel
import StrictText

/// The rows of the applied version that are in no table: the table `snapsync_held`.
///
/// Their instants are in `snapsync_instants`, with those of the other rows.
package struct HeldRows: TransactionPart {
    let transaction: LocalTransaction

    /// The reason of a row that an applied version holds.
    package static let published = "published"
    /// The reason of a row that no version has yet and that waits here (``WaitingRows``). The next version that this device publishes holds it.
    package static let waiting = "waiting"

    /// Whether the next version holds rows that the applied version does not have.
    package func hasWaiting(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let waiting = "SELECT EXISTS (SELECT 1 FROM snapsync_held WHERE dataset = ? AND reason = \(Self.waiting.sqlText))"
        return try KeyedStatement(db, waiting).bind(.integer(id)).integer() == 1
    }

    /// How many rows of a dataset are held.
    package func count(of schema: DatasetSchema) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        return Int(try KeyedStatement(db, "SELECT count(*) FROM snapsync_held WHERE dataset = ?").bind(.integer(id)).integer() ?? 0)
    }

    /// Stores a row, in place of one with its key.
    ///
    /// - Parameters:
    ///   - entity: its JSON, by ``DatasetSchema/withoutShapes``.
    ///   - reason: why it waits.
    package func put(_ key: EntityKey, entity: String, reason: String, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_held VALUES(?, ?, ?, ?)").bind(.integer(id), .key(key), .text(entity), .text(reason)).run()
    }

    /// Removes a row. Its instants stay: the row may be shown now.
    package func remove(_ key: EntityKey, of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_held WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
    }

    /// The JSON of a row that the applied version holds; nil if it holds none.
    package func entity(_ key: EntityKey, of schema: DatasetSchema) throws -> String? {
        guard let id = try trackingID(schema) else { return nil }
        let row = try KeyedStatement(db, "SELECT entity FROM snapsync_held WHERE dataset = ? AND key = ? AND reason = \(Self.published.sqlText)").bind(
            .integer(id), .key(key))
        defer { row.end() }
        return try row.step() ? row.string(0) : nil
    }

    /// The condition that a row is held, by the applied version or by this device alone.
    ///
    /// - Parameter key: an expression for its key as the toolkit's tables store it.
    func isHeld(_ key: String, of schema: DatasetSchema) throws -> String {
        guard let id = try trackingID(schema), try db.hasTable(LocalTable.waiting.name) else { return "FALSE" }
        return """
            (EXISTS (SELECT 1 FROM main.snapsync_held h WHERE h.dataset = \(id) AND h.key = \(key))
            OR EXISTS (SELECT 1 FROM main.snapsync_waiting w WHERE w.dataset = \(schema.name.sqlText) AND w.key = \(key)))
            """
    }

    /// Whether the application has not inserted another row under the key of row `h`.
    private static let isStillHeld =
        "NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = h.dataset AND c.key = h.key AND c.state < \(TrackedState.deleted))"

    /// The rows under whose keys the application has inserted others.
    package func overwritten(of schema: DatasetSchema) throws -> [(key: EntityKey, entity: String)] {
        guard let id = try trackingID(schema) else { return [] }
        let rows = try KeyedStatement(db, "SELECT key, entity FROM snapsync_held h WHERE dataset = ? AND NOT (\(Self.isStillHeld))").bind(.integer(id))
        defer { rows.end() }
        var found: [(key: EntityKey, entity: String)] = []
        while try rows.step() { if let key = rows.key(0), let entity = rows.string(1) { found.append((key, entity)) } }
        return found
    }

    /// Calls `body` with each row, in key order.
    ///
    /// - Parameter withEdited: whether also with those under whose keys there are edits, which are off the tables during an import.
    package func forEach(of schema: DatasetSchema, withEdited: Bool = false, do body: (EntityKey, _ entity: String, _ reason: String) throws -> Void) throws {
        guard let id = try trackingID(schema) else { return }
        let condition = withEdited ? "TRUE" : Self.isStillHeld
        let rows = try KeyedStatement(db, "SELECT key, entity, reason FROM snapsync_held h WHERE dataset = ? AND \(condition) ORDER BY key").bind(.integer(id))
        defer { rows.end() }
        while try rows.step() {
            if let key = rows.key(0), let entity = rows.string(1) { try body(key, entity, rows.string(2) ?? "") }
        }
    }

    /// The instants of all rows, in key order, each with the row's own timestamp.
    func instants(of schema: DatasetSchema) throws -> [(key: EntityKey, instants: RowInstants, own: Instant?)] {
        guard let id = try trackingID(schema) else { return [] }
        let own = schema.timestamp.map { schema.instantSQL("(SELECT e.value FROM json_each(h.entity) e WHERE e.key = \($0.sqlText))") } ?? "NULL"
        let rows = try KeyedStatement(
            db,
            """
            SELECT h.key, i.at, i.rest, i.born, i.columns, \(own) FROM snapsync_held h
            LEFT JOIN snapsync_instants i ON i.dataset = h.dataset AND i.key = h.key WHERE h.dataset = ? AND \(Self.isStillHeld) ORDER BY h.key
            """
        ).bind(.integer(id))
        var found: [(key: EntityKey, instants: RowInstants, own: Instant?)] = []
        while try rows.step() {
            if let key = rows.key(0) {
                found.append((key, rows.isNull(1) ? RowInstants() : RowInstants(rows, from: 1), rows.isNull(5) ? nil : rows.instant(5)))
            }
        }
        return found
    }
}
