import GRDB
package import SnapshotModel
import StrictText

/// What became of a tracked entity, as the tables keep it.
package enum TrackedState: Int, Sendable {
    /// The row is there, and its own timestamp is the change's instant.
    case plain = 0
    /// The row is there, and the change's instant is another than its timestamp.
    case stamped = 1
    /// The row is gone.
    case deleted = 2
}

extension LocalTransaction {
    /// Whether notes of these datasets wait to be folded.
    package func hasNotes(_ schemas: [DatasetSchema]) throws -> Bool {
        return try schemas.contains { schema in
            guard let id = try trackingID(schema) else { return false }
            return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_log WHERE dataset = ?)", arguments: [id]) ?? false
        }
    }

    /// Makes tracked changes of the triggers' notes, and fixes each change's instant for good.
    ///
    /// The instant is max(min(u, clock), seen + 1 us): u is the row's timestamp if the statement changed it, else the clock;
    /// *seen* is the instant of the entity or tombstone that the change replaced here. Notes come in the order of statements,
    /// so of several changes of one entity each is later than the one before.
    package func foldNotes(of schemas: [DatasetSchema]) throws {
        let last = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM snapsync_log") ?? 0
        try createGuardTables()
        for schema in schemas {
            guard let id = try trackingID(schema) else { continue }
            try foldNotes(of: schema, id: id)
            try classify(schema, id: id)
            try db.execute(sql: "DELETE FROM snapsync_log WHERE dataset = ?", arguments: [id])
        }
        // A sequence number is never given twice: the last one stays, as a note of nothing (dataset 0).
        try db.execute(sql: "DELETE FROM snapsync_log WHERE dataset = 0")
        if last > 0 { try db.execute(sql: "INSERT OR IGNORE INTO snapsync_log(seq, dataset, kind, clock) VALUES(?, 0, 0, 0)", arguments: [last]) }
    }

    private func foldNotes(of schema: DatasetSchema, id: Int64) throws {
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        // A mark of kind 1 counts only if REPLACE did remove the row.
        let notes = try Row.fetchCursor(
            db, sql: """
                SELECT seq, key, clock, stamp, seen FROM snapsync_log l WHERE dataset = ? AND key IS NOT NULL
                AND (kind = 0 OR NOT EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = l.key)) ORDER BY seq
                """, arguments: [id])
        let before = try db.makeStatement(sql: """
            SELECT coalesce((SELECT at FROM snapsync_changes WHERE dataset = ?1 AND key = ?2), (SELECT at FROM snapsync_instants WHERE dataset = ?1 AND key = ?2),
                (SELECT at FROM snapsync_tombstones WHERE dataset = ?1 AND key = ?2))
            """)
        let save = try db.makeStatement(sql: "INSERT OR REPLACE INTO snapsync_changes(dataset, key, at, seq, state) VALUES(?, ?, ?, ?, 0)")
        try dropStaleBases(id: id)
        let base = try makeBaseStatement()
        while let note = try notes.next() {
            let key: DatabaseValue = note[1], clock = (note[2] as Int64) * 1000
            let seen = try Int64.fetchOne(before, arguments: [id, key]) ?? Self.instant(note[4])
            if let seen { try base.execute(arguments: [id, key, seen]) }
            let stamp = Self.instant(note[3]) ?? clock
            let at = max(min(stamp, clock), seen.map { $0 + 1 } ?? .min)
            try save.execute(arguments: [id, key, at, note[0] as Int64])
        }
    }

    private static func instant(_ value: DatabaseValue) -> Int64? {
        guard case .string(let text) = value.storage else { return nil }
        return (try? Instant(parsing: text))?.microseconds
    }

    /// Whether a change is an edit or a deletion is told by looking at the row.
    private func classify(_ schema: DatasetSchema, id: Int64) throws {
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        let stamp = schema.timestampIndex.map { "snapsync_instant(t.\(schema.columns[$0].column.sqlIdentifier))" } ?? "NULL"
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET state = coalesce(
                    (SELECT CASE WHEN \(stamp) IS c.at OR c.at = \(Int64.min) THEN 0 ELSE 1 END FROM \(table) t WHERE t.\(key) = c.key), 2) WHERE dataset = ?
                """, arguments: [id])
    }
}
