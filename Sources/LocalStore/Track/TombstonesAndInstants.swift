import GRDB
package import SnapshotModel
package import StrictText

/// What the applied version has besides its rows: the tables `snapsync_tombstones` and `snapsync_instants`.
///
/// A tombstone says when an entity was deleted. An instant says when an entity was changed, if that differs from its own timestamp.
package struct TombstonesAndInstants: TransactionPart {
    let transaction: LocalTransaction

    /// Calls `body` with the tombstones of the next version, in key order: those of the applied version and of tracked deletions.
    package func forEachTombstone(of schema: DatasetSchema, _ body: (EntityKey, Instant) throws -> Void) throws {
        guard let id = try trackingID(schema) else { return }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        try forEach(
            """
            SELECT key, at FROM (
                SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.deleted) UNION ALL
                SELECT key, at FROM snapsync_tombstones b WHERE dataset = ?1
                    AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)) x
            WHERE NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "x.key"))) ORDER BY key
            """, id
        ) {
            try body($0, $1)
            return true
        }
    }

    /// Calls `body` with the instants of the next version that differ from the entities' own timestamps, in key order.
    ///
    /// - Parameter body: returns false to stop.
    package func forEachInstant(of schema: DatasetSchema, while body: (EntityKey, Instant) throws -> Bool) throws {
        guard let id = try trackingID(schema) else { return }
        try forEach(instantsQuery(of: schema), id, while: body)
    }

    private func instantsQuery(of schema: DatasetSchema) -> String {
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.ownInstantSQL
        return """
            SELECT key, at FROM (
                SELECT key, at FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.stamped) UNION ALL
                SELECT key, at FROM snapsync_instants b WHERE dataset = ?1
                    AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)) x
            WHERE EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "x.key")) AND \(stamp) IS NOT x.at) ORDER BY key
            """
    }

    /// Calls `body` with each entity of the next version in key order, and its instant if that differs from its own timestamp.
    package func forEachEntity(of schema: DatasetSchema, _ body: (EntityKey, Instant?) throws -> Void) throws {
        guard let id = try trackingID(schema) else { return }
        let instants = try KeyedStatement(db, instantsQuery(of: schema)).bind(.integer(id))
        defer { instants.end() }
        var next: (key: EntityKey, at: Instant)?
        func advance() throws {
            next = nil
            while next == nil, try instants.step() { next = instants.key(0).map { ($0, instants.instant(1)) } }
        }
        try advance()
        try forEachKey(of: schema) { entity in
            while let one = next, one.key < entity { try advance() }
            if let one = next, one.key == entity { try body(entity, one.at) } else { try body(entity, nil) }
        }
    }

    /// Calls `body` with each entity of a rewritten table in key order, and its instant if that differs from its own timestamp.
    package func forEachEntity(of schema: DatasetSchema, in rewritten: RewrittenTable, _ body: (EntityKey, Instant?) throws -> Void) throws {
        var others = rewritten.instants[...]
        try forEachKey(of: schema) { key in
            if let other = others.first, other.key == key {
                others.removeFirst()
                try body(key, other.at)
            } else {
                try body(key, rewritten.common)
            }
        }
    }

    /// The first and the last key of a table in key order; one key if the table has one row, none if it is empty.
    package func firstAndLastKey(of schema: DatasetSchema) throws -> [EntityKey] {
        let key = schema.keySQL
        func end(_ order: String) throws -> EntityKey? {
            let row = try KeyedStatement(
                db, "SELECT \(key.value(of: "t")) FROM \(schema.table.sqlIdentifier) t WHERE \(key.isNotNull("t")) ORDER BY \(order) LIMIT 1"
            ).bind()
            defer { row.end() }
            return try row.step() ? row.key(0) : nil
        }
        guard let first = try end(key.list()), let last = try end(key.descending) else { return [] }
        return first == last ? [first] : [first, last]
    }

    private func forEachKey(of schema: DatasetSchema, _ body: (EntityKey) throws -> Void) throws {
        let key = schema.keySQL
        let keys = try KeyedStatement(
            db, "SELECT \(key.value(of: "t")) FROM \(schema.table.sqlIdentifier) t WHERE \(key.isNotNull("t")) ORDER BY \(key.list())"
        ).bind()
        defer { keys.end() }
        while try keys.step() { if let entity = keys.key(0) { try body(entity) } }
    }

    /// Whether the next version has tombstones older than an instant.
    package func hasTombstones(of schema: DatasetSchema, before horizon: Instant) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        return try Bool.fetchOne(
            db,
            sql:
                "SELECT EXISTS (SELECT 1 FROM snapsync_tombstones WHERE dataset = ?1 AND at < ?2) OR EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.deleted) AND at < ?2)",
            arguments: [id, horizon.microseconds]) ?? false
    }

    /// The instant before which tombstones must be dropped so that the remaining ones take at most half of `limit`; nil if all fit into `limit`.
    ///
    /// - Parameters:
    ///   - limit: how many bytes of JSON the tombstones of the next version may take.
    ///   - deletions: further deletions, which are not tracked.
    package func crowdedHorizon(of schema: DatasetSchema, limit: Int, besides deletions: [(key: EntityKey, at: Instant)]) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        let tombstones = """
            (SELECT at, length(CAST(key AS BLOB)) + \(Self.tombstoneBytes) AS bytes FROM snapsync_tombstones WHERE dataset = ?1
            UNION ALL SELECT at, length(CAST(key AS BLOB)) + \(Self.tombstoneBytes) FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.deleted))
            """
        let more = deletions.reduce(0) { $0 + $1.key.byteCount + Self.tombstoneBytes }
        guard try more + Int(KeyedStatement(db, "SELECT sum(bytes) FROM \(tombstones)").bind(.integer(id)).integer() ?? 0) > limit else { return nil }
        var sizes: [Instant: Int] = [:]
        for one in deletions { sizes[one.at, default: 0] += one.key.byteCount + Self.tombstoneBytes }
        let statement = try KeyedStatement(db, "SELECT at, sum(bytes) FROM \(tombstones) GROUP BY at").bind(.integer(id))
        while try statement.step() { sizes[statement.instant(0), default: 0] += Int(statement.integer(1)) }
        var kept = 0
        for (at, bytes) in sizes.sorted(by: { $0.key > $1.key }) {
            kept += bytes
            if kept > limit / 2 { return at.advanced(byMicroseconds: 1) }
        }
        return nil
    }

    /// The JSON bytes of a tombstone besides its key: `{"id":"","deletedAt":"2026-11-23T11:38:08.752Z"},`.
    private static let tombstoneBytes = 50

    /// Deletes the applied version's tombstones older than an instant, because the version no longer has them.
    package func removeTombstones(of schema: DatasetSchema, before horizon: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_tombstones WHERE dataset = ? AND at < ?", arguments: [id, horizon.microseconds])
    }

    /// Deletes the applied version's tombstones and instants, before those of another version are stored.
    package func clear(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(sql: "DELETE FROM snapsync_tombstones WHERE dataset = ?", arguments: [id])
        try db.execute(sql: "DELETE FROM snapsync_instants WHERE dataset = ?", arguments: [id])
    }

    /// Stores a tombstone of the version that is being applied.
    package func addTombstone(of key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_tombstones VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    /// Stores an entity's instant from the version that is being applied.
    package func addInstant(_ instant: Instant, of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_instants VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    /// The instant that the applied version records for an entity; nil if the version relies on the entity's own timestamp.
    package func appliedInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_instants", key, schema)
    }

    /// When the applied version says that an entity was deleted; nil if it has no tombstone.
    package func tombstone(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_tombstones", key, schema)
    }

    /// The instant that the applied version gives the present row, without regard to changes made here.
    package func versionInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant {
        try appliedInstant(of: key, in: schema) ?? transaction.rows.ownInstant(of: key, in: schema) ?? .distantPast
    }

    /// Stores what a version says of an entity that it has: its instant, or nil if the entity's own timestamp is the instant.
    package func setPresent(_ key: EntityKey, at instant: Instant?, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_tombstones WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        if let instant {
            try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_instants VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
        } else {
            try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        }
    }

    /// Records that the published version has every row at one instant.
    ///
    /// - Parameter sequence: the sequence number of the last log entry that the version contains. Later changes are not in the version.
    func setAll(of schema: DatasetSchema, at instant: Instant, asOf sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        let key = schema.keySQL, arguments: StatementArguments = ["id": id, "at": instant.microseconds, "seq": sequence]
        let others = "SELECT EXISTS (SELECT 1 FROM snapsync_instants WHERE dataset < ?1) OR EXISTS (SELECT 1 FROM snapsync_instants WHERE dataset > ?1)"
        if try KeyedStatement(db, others).bind(.integer(id)).integer() == 0 {
            // Without a condition, SQLite frees the pages without reading the rows.
            try db.execute(sql: "DELETE FROM snapsync_instants")
        } else {
            try db.execute(sql: "DELETE FROM snapsync_instants WHERE dataset = ?", arguments: [id])
        }
        // The first later entry of a key says whether its row existed. So does a tracked change that another run has made of that entry.
        let later = """
            SELECT key, min(seq), changed <> \(LogEntryKind.inserted) AS wasThere FROM (
                SELECT \(key.unlogged("key")) AS key, seq, changed FROM snapsync_log WHERE dataset = :id AND seq > :seq) WHERE key IS NOT NULL GROUP BY key
            UNION ALL SELECT key, seq, isNew <> \(TrackedOrigin.new) FROM snapsync_changes WHERE dataset = :id AND seq > :seq
            """
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) SELECT :id, \(key.value(of: "t")), :at FROM \(schema.table.sqlIdentifier) t
                WHERE \(key.isNotNull("t")) AND \(key.value(of: "t")) NOT IN (SELECT key FROM (\(later))) ORDER BY \(key.list())
                """, arguments: arguments)
        try db.execute(
            sql: "INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) SELECT :id, key, :at FROM (\(later)) WHERE wasThere", arguments: arguments)
    }

    /// Stores what a version says of an entity that it no longer has: when it was deleted.
    package func setDeleted(_ key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_tombstones VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    private func forEach(_ sql: String, _ id: Int64, while body: (EntityKey, Instant) throws -> Bool) throws {
        let rows = try KeyedStatement(db, sql).bind(.integer(id))
        defer { rows.end() }
        while try rows.step() {
            guard let key = rows.key(0) else { continue }
            guard try body(key, rows.instant(1)) else { return }
        }
    }

    private func lookUp(_ table: String, _ key: EntityKey, _ schema: DatasetSchema) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        return try KeyedStatement(db, "SELECT at FROM \(table) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).integer().map(
            Instant.init(microseconds:))
    }
}
