import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// A change that was made here and is not in the applied version.
package struct TrackedChange: Sendable, Hashable {
    package let key: EntityKey
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether the row is there and its own timestamp is not the change's instant.
    package let isStamped: Bool
    /// Whether the applied version has the key; nil if that is not known.
    package let isInVersion: Bool?
    /// Whether the applied version may lack the key.
    package var isNew: Bool { isInVersion != true }
    /// Whether the row was marked as read or unread, and nothing else of it edited.
    package let isMark: Bool
    /// Whether nothing was edited, and the row has values in columns that the version does not describe.
    package let isCarried: Bool
    /// The instant of the version's entity or tombstone that whoever made the change had before them; nil where there was none, or where
    /// that is not known. A version's edit that is later than this was made by somebody who had not seen this change, nor this one that.
    package let base: Instant?

    /// What `isMark` says of a carried change. An edit on top of it says 0.
    static let carriedMark: Int64 = 2

    static let columns = "key, at, state, isNew, isMark, base"

    /// Reads ``columns``.
    init?(_ row: KeyedStatement) {
        guard let key = row.key(0) else { return nil }
        self.key = key
        instant = row.instant(1)
        isDeletion = row.integer(2) == Int64(TrackedState.deleted.rawValue)
        isStamped = row.integer(2) == Int64(TrackedState.stamped.rawValue)
        let origin = TrackedOrigin(rawValue: row.integer(3)) ?? .unknown
        isInVersion = origin == .unknown ? nil : origin == .inVersion
        isMark = row.integer(4) == 1
        isCarried = row.integer(4) == Self.carriedMark
        base = row.isNull(5) ? nil : row.instant(5)
    }
}

// What an import asks of the tracked changes, and what it decides about them.
extension LocalTransaction {
    /// Whether anything is tracked; notes must have been folded.
    package func hasTrackedChanges(of schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?)", arguments: [id]) ?? false
    }

    /// The tracked changes whose keys lie in a range, in key order; with `onlyKept` those that ``keepChange(of:in:)`` marked.
    package func trackedChanges(of schema: DatasetSchema, in range: KeyRange, onlyKept: Bool = false) throws -> [TrackedChange] {
        guard let id = try trackingID(schema) else { return [] }
        var conditions = ["dataset = ?1"]
        if onlyKept { conditions.append("wins = \(MergeDecision.kept)") }
        if range.first != nil { conditions.append("key >= ?2") }
        if range.next != nil { conditions.append("key < ?3") }
        let statement = try KeyedStatement(db, "SELECT \(TrackedChange.columns) FROM snapsync_changes WHERE \(conditions.joined(separator: " AND ")) ORDER BY key")
        switch (range.first, range.next) {
        case (nil, nil): try statement.bind(.integer(id))
        case (let first?, nil): try statement.bind(.integer(id), .key(first))
        case (let first, let next?): try statement.bind(.integer(id), first.map { .key($0) } ?? .null, .key(next))
        }
        var changes: [TrackedChange] = []
        while try statement.step() {
            if let change = TrackedChange(statement) { changes.append(change) }
        }
        return changes
    }

    /// The keys in a range that were touched since the applied version, folded or not.
    package func touchedKeys(of schema: DatasetSchema, in range: KeyRange) throws -> Set<EntityKey> {
        guard let id = try trackingID(schema) else { return [] }
        var keys = Set(try trackedChanges(of: schema, in: range).map(\.key))
        let notes = try KeyedStatement(db, "SELECT DISTINCT key FROM snapsync_log WHERE dataset = ? AND kind <> \(LogEntryKind.overwritten)").bind(.integer(id))
        while try notes.step() {
            guard let key = notes.key(0), range.contains(key) else { continue }
            keys.insert(key)
        }
        return keys
    }

    /// Says that a tracked change stays, for it wins over the version.
    package func keepChange(of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET wins = \(MergeDecision.kept) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
    }

    /// Says which instant of the version a tracked change has now been compared with.
    package func setBase(_ instant: Instant, of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET base = ? WHERE dataset = ? AND key = ?").bind(.instant(instant), .integer(id), .key(key)).run()
    }

    /// Ends a merge: what was not kept is forgotten, for the version has it or has something later.
    ///
    /// A deletion of what the version does not have stays, unless the version knows of one as late, or the publisher has applied its message: it
    /// may have given it an earlier instant. One that lost to the version's entity goes: by now its row is there again.
    package func endMerge(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
        let isApplied = try !hasMailbox() ? "" : """
             OR EXISTS (SELECT 1 FROM snapsync_outbox o WHERE o.dataset = ?1 AND o.key = c.key AND o.seq = c.seq AND o.state = 'applied' AND o.covers = 1)
            """
        try db.execute(
            sql: """
                DELETE FROM snapsync_changes AS c WHERE dataset = ?1 AND wins = \(MergeDecision.undecided) AND (state < \(TrackedState.deleted)\(isApplied)
                    OR EXISTS (SELECT 1 FROM snapsync_tombstones t WHERE t.dataset = ?1 AND t.key = c.key AND t.at >= c.at)
                    OR EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = c.key))
                """, arguments: [id])
        try db.execute(sql: "UPDATE snapsync_changes SET isMark = \(Self.markAfterMerge), wins = \(MergeDecision.undecided), isNew = \(TrackedOrigin.unknown) WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_tracking SET isComplete = 1 WHERE id = ?", arguments: [id])
    }

    /// Ends the marks of kept changes that no merge of a whole dataset has ended.
    package func endKeeping() throws {
        guard try hasTrackingTables() else { return }
        try db.execute(sql: "UPDATE snapsync_changes SET isMark = \(Self.markAfterMerge), wins = \(MergeDecision.undecided) WHERE wins <> \(MergeDecision.undecided)")
    }

    /// What stays as it is over another version may differ from it in more than a mark.
    private static let markAfterMerge = "CASE WHEN wins = \(MergeDecision.kept) AND isMark = \(ChangeScope.mark) THEN 0 ELSE isMark END"
}
