import GRDB
import LocalStore
import StrictText

/// The rows of an audience's table that were edited since the last refresh, on their way into the source's table.
///
/// A temporary table has an entry for each: what was done, which columns, the key, whether it is `open`, `made`, `failed` or `late`, and why the source
/// does not take it, or not all of it.
struct SourceEdits {
    private let view: ViewDefinition
    private let base: String
    private let db: Database
    /// The table of the entries.
    private let edits: String

    /// Finds the edits; nil if there are none.
    init?(_ view: ViewDefinition, number: Int, in db: Database) throws {
        guard let base = view.base, try isThere(view.filled, db) else { return nil }
        (self.view, self.base, self.db, edits) = (view, "main.\(base.sqlIdentifier)", db, "temp.snapsync_edits_\(number)")
        let keys = view.key.enumerated().map { ", k\($0)\($1.declaration)" }.joined()
        try db.execute(
            sql: "CREATE TEMP TABLE snapsync_edits_\(number)(n INTEGER PRIMARY KEY, kind TEXT, mask TEXT, state TEXT DEFAULT 'open', reason TEXT\(keys))")
        let table = "audience.\(view.table.sqlIdentifier)", filled = "audience.\(view.filled.sqlIdentifier)", isSame = view.isSameKey("a", "b")
        let differ = view.columns.map { $0.differ("a", "b") }
        func key(_ row: String) -> String { view.key.map { "\(row).\($0.name.sqlIdentifier)" }.joined(separator: ", ") }
        try db.execute(
            sql: """
                INSERT INTO \(edits)(kind, mask\(view.key.indices.map { ", k\($0)" }.joined())) SELECT * FROM (
                    SELECT 'update' AS kind, \(differ.joined(separator: " || ")) AS mask, \(key("a")) FROM \(table) a, \(filled) b
                        WHERE \(isSame) AND (\(differ.joined(separator: " OR ")))
                    UNION ALL SELECT 'insert', '', \(key("a")) FROM \(table) a WHERE NOT EXISTS (SELECT 1 FROM \(filled) b WHERE \(isSame))
                    UNION ALL SELECT 'delete', '', \(key("b")) FROM \(filled) b WHERE NOT EXISTS (SELECT 1 FROM \(table) a WHERE \(isSame))
                ) ORDER BY kind, mask
                """)
        guard try db.changesCount > 0 && Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(edits))") == true else {
            try db.execute(sql: "DROP TABLE \(edits)")
            return nil
        }
    }

    /// Makes the edits in the source, as far as it takes them.
    static func make(_ all: [SourceEdits]) throws {
        for one in all { try one.findLate() }
        // A row may need one of another table. What did not fit may fit once that row is there.
        var wasMade = true
        while wasMade {
            wasMade = false
            for one in all { wasMade = try one.make() || wasMade }
            guard wasMade, try all.contains(where: { try $0.hasFailed() }) else { break }
        }
    }

    /// Marks what the source has changed itself since the last refresh.
    private func findLate() throws {
        let table = "audience.\(view.table.sqlIdentifier)", filled = "audience.\(view.filled.sqlIdentifier)"
        let changed = view.columns.map { $0.differ("t", "b", as: \.origin) }
        let isLate = view.columns.enumerated().map { "substr(e.mask, \($0 + 1), 1) = '1' AND \(changed[$0]) AND \($1.differ("t", "a", as: \.origin))" }
        let isOther = view.columns.map { $0.differ("q", "a") }.joined(separator: " OR ")
        let inQuery = "SELECT 1 FROM (\(view.query)\n) q WHERE \(isEntry("q"))"
        let later = "'its row was changed later in the source'"
        try db.execute(
            sql: """
                DELETE FROM \(edits) AS e WHERE kind = 'delete' AND NOT EXISTS (\(inQuery))
                    OR kind = 'insert' AND EXISTS (SELECT 1 FROM (\(view.query)\n) q, \(table) a WHERE \(isEntry("q")) AND \(isEntry("a")) AND NOT (\(isOther)));
                UPDATE \(edits) AS e SET state = 'late', reason = \(later) WHERE kind = 'update' AND NOT EXISTS (\(inQuery)) OR kind = 'insert' AND EXISTS (\(inQuery))
                    OR kind = 'delete' AND EXISTS (SELECT 1 FROM \(base) t, \(filled) b WHERE \(isEntry("t", \.origin)) AND \(isEntry("b")) AND (\(changed.joined(separator: " OR "))));
                UPDATE \(edits) AS e SET reason = 'its columns were changed later in the source' WHERE kind = 'update' AND state = 'open' AND EXISTS (
                    SELECT 1 FROM \(base) t, \(table) a, \(filled) b
                    WHERE \(isEntry("t", \.origin)) AND \(isEntry("a")) AND \(isEntry("b")) AND (\(isLate.joined(separator: " OR "))));
                """)
    }

    /// Makes the edits that were not made yet. Returns whether one was.
    private func make() throws -> Bool {
        try db.execute(sql: "UPDATE \(edits) SET state = 'open', reason = NULL WHERE state = 'failed'")
        let groups = try Row.fetchAll(db, sql: "SELECT kind, mask, min(n) AS low, max(n) AS high FROM \(edits) WHERE state = 'open' GROUP BY kind, mask")
        return try groups.reduce(false) { wasMade, group in
            let sql = statement(group["kind"], mask: group["mask"])
            return try make(sql, from: group["low"], to: group["high"]) || wasMade
        }
    }

    /// The statement that makes the edits from one number to another.
    private func statement(_ kind: String, mask: String) -> String {
        let these = "e.n BETWEEN ? AND ? AND e.state = 'open'"
        let table = "audience.\(view.table.sqlIdentifier) a", filled = "audience.\(view.filled.sqlIdentifier) b"
        switch kind {
        case "update":
            // A trigger of the application may run for one column alone. What the source has changed stays.
            let changes = zip(view.columns, mask.utf8).filter { $1 == UInt8(ascii: "1") }.map { column, _ in
                "\(column.origin.sqlIdentifier) = CASE WHEN \(column.differ("t", "b", as: \.origin)) THEN t.\(column.origin.sqlIdentifier) ELSE a.\(column.name.sqlIdentifier) END"
            }
            return """
                UPDATE \(base) AS t SET \(changes.joined(separator: ", ")) FROM \(edits) e, \(table), \(filled)
                WHERE \(isEntry("t", \.origin)) AND \(isEntry("a")) AND \(isEntry("b")) AND \(these)
                """
        case "insert":
            let origins = view.columns.map(\.origin.sqlIdentifier).joined(separator: ", ")
            let values = view.columns.map { "a.\($0.name.sqlIdentifier)" }.joined(separator: ", ")
            return "INSERT INTO \(base)(\(origins)) SELECT \(values) FROM \(edits) e, \(table) WHERE \(isEntry("a")) AND \(these)"
        default:
            let key = view.key.map { "t.\($0.origin.sqlIdentifier)" }.joined(separator: ", ")
            return
                "DELETE FROM \(base) AS t WHERE (\(key)) IN (SELECT \(view.key.indices.map { "e.k\($0)" }.joined(separator: ", ")) FROM \(edits) e WHERE \(these))"
        }
    }

    /// Makes the edits from `low` to `high`. If the source refuses one of them, makes the halves. Returns whether one was made.
    private func make(_ sql: String, from low: Int64, to high: Int64) throws -> Bool {
        var reason: String?
        do {
            try db.inSavepoint {
                try db.execute(sql: sql, arguments: [low, high])
                // Nobody may put rows where the audience does not see them.
                let isOut = try Bool.fetchOne(
                    db,
                    sql: """
                        SELECT EXISTS (SELECT 1 FROM \(edits) e WHERE e.n BETWEEN ? AND ? AND e.state = 'open' AND e.kind <> 'delete'
                            AND NOT EXISTS (SELECT 1 FROM (\(view.query)\n) q WHERE \(isEntry("q"))))
                        """, arguments: [low, high])
                if isOut == true { reason = "the row would not be one of the query's" }
                return isOut == true ? .rollback : .commit
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT && db.isInsideTransaction {
            reason = "SQLite refuses it: \(error.message ?? "\(error.extendedResultCode)")"
        }
        guard let reason else {
            try db.execute(sql: "UPDATE \(edits) SET state = 'made' WHERE n BETWEEN ? AND ? AND state = 'open'", arguments: [low, high])
            return true
        }
        guard low == high else {
            let middle = (low + high) / 2, first = try make(sql, from: low, to: middle)
            return try make(sql, from: middle + 1, to: high) || first
        }
        try db.execute(sql: "UPDATE \(edits) SET state = 'failed', reason = ? WHERE n = ? AND state = 'open'", arguments: [reason, low])
        return false
    }

    private func hasFailed() throws -> Bool { try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(edits) WHERE state = 'failed')") == true }

    /// One sentence for each reason why the source did not take edits.
    func refusals(_ source: String) throws -> [String] {
        let key = view.key.indices.map { "quote(k\($0))" }.joined(separator: " || ', ' || ")
        return try Row.fetchAll(
            db,
            sql: """
                SELECT reason, count(*) AS count, \(key) AS key
                FROM \(edits) WHERE reason IS NOT NULL GROUP BY reason ORDER BY min(n)
                """
        ).map { row in
            let count: Int = row["count"], reason: String = row["reason"], key: String = row["key"]
            return "\(view.table): \(Format.count(count, "edit")) not made in \(source): \(reason) (key \(key)\(count > 1 ? ", and others" : ""))"
        }
    }

    /// The condition that a row has the key of the entry `e`.
    private func isEntry(_ row: String, _ name: KeyPath<ViewDefinition.Column, String> = \.name) -> String {
        view.key.enumerated().map { "\(row).\($1[keyPath: name].sqlIdentifier) = e.k\($0)" }.joined(separator: " AND ")
    }
}

extension ViewDefinition.Column {
    /// The condition that the values of two rows differ, by their bytes and types.
    ///
    /// - Parameter name: which name the column has in the first row.
    func differ(_ row: String, _ other: String, as name: KeyPath<Self, String> = \.name) -> String {
        let (left, right) = ("\(row).\(self[keyPath: name].sqlIdentifier)", "\(other).\(self.name.sqlIdentifier)")
        return "(\(left) IS NOT \(right) COLLATE BINARY OR typeof(\(left)) <> typeof(\(right)))"
    }
}

extension ViewDefinition {
    /// The condition that two rows have one key.
    func isSameKey(_ row: String, _ other: String) -> String {
        key.map { "\(row).\($0.name.sqlIdentifier) = \(other).\($0.name.sqlIdentifier)" }.joined(separator: " AND ")
    }

    /// Gives a table the rows of another one, and writes only what differs.
    @discardableResult
    func copy(_ rows: String, to table: String, _ db: Database) throws -> ViewChanges {
        let names = columns.map(\.name.sqlIdentifier), isSame = isSameKey("r", "t")
        var changes = ViewChanges(table: self.table)
        try db.execute(sql: "DELETE FROM \(table) AS t WHERE NOT EXISTS (SELECT 1 FROM \(rows) r WHERE \(isSame))")
        changes.removed = db.changesCount
        try db.execute(
            sql: """
                UPDATE \(table) AS t SET \(names.map { "\($0) = r.\($0)" }.joined(separator: ", ")) FROM \(rows) r
                    WHERE \(isSame) AND (\(columns.map { $0.differ("r", "t") }.joined(separator: " OR ")))
                """)
        changes.changed = db.changesCount
        try db.execute(
            sql: """
                INSERT INTO \(table)(\(names.joined(separator: ", "))) SELECT \(names.joined(separator: ", ")) FROM \(rows) r
                    WHERE NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(isSame))
                """)
        changes.added = db.changesCount
        return changes
    }

    /// Gives the changes of a refresh the times at which the source's log has them, so that edits of readers lose only to later ones.
    func dateChanges(after log: Int64, _ db: Database) throws {
        let isTracked = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = 'snapsync_log')"
        guard let base, try Bool.fetchOne(db, sql: isTracked) == true else { return }
        try db.execute(
            sql: """
                UPDATE audience.snapsync_log AS o SET clock = min(o.clock, l.clock) FROM (
                    SELECT key, max(clock) AS clock FROM main.snapsync_log WHERE dataset = (SELECT id FROM main.snapsync_tracking WHERE dataset = ?) GROUP BY key) AS l
                WHERE o.seq > ? AND o.dataset = (SELECT id FROM audience.snapsync_tracking WHERE dataset = ?) AND l.key = o.key
                """, arguments: [base, log, table])
    }
}

/// Whether the audience has a table of that name.
func isThere(_ name: String, _ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM audience.sqlite_schema WHERE type = 'table' AND name = ?)", arguments: [name]) == true
}
