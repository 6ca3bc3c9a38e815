import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

/// What the applied version has besides its rows: the tables `snapsync_tombstones` and `snapsync_instants`.
///
/// A tombstone says when an entity was deleted. The instants say when an entity and its columns were changed, as far as its own timestamp does
/// not say so.
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
            WHERE NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", "x.key")))
                AND NOT EXISTS (SELECT 1 FROM snapsync_held h WHERE h.dataset = ?1 AND h.key = x.key) ORDER BY key
            """, id
        ) {
            try body($0, $1)
            return true
        }
    }

    /// Calls `body` with the instants of the next version, in key order: those of the applied version and of tracked changes.
    ///
    /// - Parameters:
    ///   - onlyChanged: whether to leave out the entities without a tracked change.
    ///   - body: gets an entity's instants as far as they must be stated, and its own timestamp.
    package func forEachInstant(
        of schema: DatasetSchema, onlyChanged: Bool = false, do body: (EntityKey, RowInstants, _ own: Instant?) throws -> Void
    ) throws {
        let cursor = try InstantCursor(self, schema, onlyChanged: onlyChanged)
        defer { cursor.end() }
        while let next = try cursor.next() {
            if next.instants != RowInstants() { try body(next.key, next.instants, next.own) }
        }
    }

    /// Whether more than `limit` entities of the next version may have instants that must be stated.
    package func hasInstants(of schema: DatasetSchema, moreThan limit: Int) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let those = "SELECT 1 FROM snapsync_instants WHERE dataset = ?1 UNION ALL SELECT 1 FROM snapsync_changes WHERE dataset = ?1"
        return try KeyedStatement(db, "SELECT count(*) > ?2 FROM (\(those) LIMIT ?2 + 1)").bind(.integer(id), .integer(Int64(limit))).integer() == 1
    }

    /// Gives all columns of each row the instant of the row's latest change, so that there are fewer instants.
    ///
    /// - Returns: how many rows had columns with other instants.
    package func joinColumns(of schema: DatasetSchema) throws -> Int {
        guard let id = try trackingID(schema) else { return 0 }
        var count = 0
        for sql in [
            "UPDATE snapsync_instants SET rest = NULL, columns = NULL WHERE dataset = ? AND columns IS NOT NULL",
            "UPDATE snapsync_changes SET changed = NULL WHERE dataset = ? AND changed <> ''",
        ] {
            try db.execute(sql: sql, arguments: [id])
            count += db.changesCount
        }
        return count
    }

    /// Calls `body` with each entity of the next version in key order, and with its instants if they must be stated.
    package func forEachEntity(
        of schema: DatasetSchema, do body: (EntityKey, RowInstants?, _ own: Instant?, _ isHeld: Bool) throws -> Void
    ) throws {
        let cursor = try InstantCursor(self, schema)
        defer { cursor.end() }
        var next = try cursor.next()
        func send(before key: EntityKey?) throws {
            while let one = next, key.map({ one.key < $0 }) ?? true {
                if one.isHeld { try body(one.key, one.instants, one.own, true) }
                next = try cursor.next()
            }
        }
        try forEachKey(of: schema) { key in
            try send(before: key)
            if let one = next, one.key == key { try body(key, one.instants, one.own, false) } else { try body(key, nil, nil, false) }
        }
        try send(before: nil)
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
    /// - Parameter limit: how many bytes of JSON the tombstones of the next version may take.
    package func crowdedHorizon(of schema: DatasetSchema, limit: Int) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        let tombstones = """
            (SELECT at, length(CAST(key AS BLOB)) + \(Self.tombstoneBytes) AS bytes FROM snapsync_tombstones WHERE dataset = ?1
            UNION ALL SELECT at, length(CAST(key AS BLOB)) + \(Self.tombstoneBytes) FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.deleted))
            """
        guard try Int(KeyedStatement(db, "SELECT sum(bytes) FROM \(tombstones)").bind(.integer(id)).integer() ?? 0) > limit else { return nil }
        var sizes: [Instant: Int] = [:]
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
        try db.execute(sql: "DELETE FROM snapsync_held WHERE dataset = ?", arguments: [id])
    }

    /// Stores a tombstone of the version that is being applied.
    package func addTombstone(of key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT INTO snapsync_tombstones VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(instant)).run()
    }

    /// Stores an instant from the version that is being applied. The lists may come in any order; ``date(of:notAfter:)`` ends them.
    ///
    /// - Parameter instant: nil for the entity's own timestamp.
    package func add(_ part: InstantPart, _ instant: Instant?, of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        let at = KeyedStatement.Parameter.instant(instant ?? .distantPast)
        switch part {
        case .row:
            try KeyedStatement(
                db,
                """
                INSERT INTO snapsync_instants(dataset, key, at) VALUES(?1, ?2, ?3)
                ON CONFLICT DO UPDATE SET rest = CASE WHEN columns IS NULL THEN NULL ELSE ?3 END, at = max(at, ?3)
                """
            ).bind(.integer(id), .key(key), at).run()
        case .born:
            // Until the row is known, the earliest instant stands for its own timestamp.
            try KeyedStatement(
                db, "INSERT INTO snapsync_instants(dataset, key, at, born) VALUES(?1, ?2, \(Int64.min), ?3) ON CONFLICT DO UPDATE SET born = ?3"
            ).bind(.integer(id), .key(key), at).run()
        case .column(let name):
            // Until the row is known, `true` stands for its own timestamp.
            let value = instant == nil ? "json('true')" : "?3"
            try KeyedStatement(
                db,
                """
                INSERT INTO snapsync_instants(dataset, key, at, columns) VALUES(?1, ?2, ?3, json_object(?4, \(value)))
                ON CONFLICT DO UPDATE SET rest = CASE WHEN columns IS NULL AND at > \(Int64.min) THEN at ELSE rest END,
                    columns = json_patch(ifnull(columns, '{}'), excluded.columns), at = max(at, ?3)
                """
            ).bind(.integer(id), .key(key), at, .text(name.description)).run()
        }
    }

    /// Completes the instants of a held entity, whose own timestamp is known. It has a record in any case: edits and ``Rebase`` look them up there.
    package func date(held key: EntityKey, own: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) VALUES(?, ?, ?)").bind(.integer(id), .key(key), .instant(own)).run()
        try KeyedStatement(
            db,
            "UPDATE snapsync_instants AS i SET (at, rest, born, columns) = (SELECT \(Self.dated("?3"))) WHERE dataset = ?1 AND key = ?2 AND \(Self.isUndated)"
        ).bind(.integer(id), .key(key), .instant(own)).run()
    }

    /// Completes the instants of all entities, whose rows are in their table now.
    ///
    /// - Parameter latest: the time of the version. No timestamp counts as later.
    package func date(of schema: DatasetSchema, notAfter latest: Instant) throws {
        guard let id = try trackingID(schema) else { return }
        let own = schema.timestampIndex == nil ? "\(Int64.min)" : "ifnull(min(\(schema.ownInstantSQL), :latest), \(Int64.min))"
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO snapsync_instants(dataset, key, at, rest, born, columns)
                SELECT :id, i.key, \(Self.dated(own)) FROM snapsync_instants i JOIN \(schema.table.sqlIdentifier) t ON \(schema.keySQL.matches("t", "i.key"))
                WHERE i.dataset = :id AND \(Self.isUndated) AND ifnull(:latest, 0) IS NOT NULL
                """, arguments: ["id": id, "latest": latest.microseconds])
    }

    /// Whether an entity's own timestamp completes its record `i`.
    private static let isUndated = "(i.at = \(Int64.min) OR i.born = \(Int64.min) OR i.rest IS NULL AND i.columns IS NOT NULL OR i.columns LIKE '%true%')"

    /// The values at, rest, born and columns of a record `i`, completed with an expression for the entity's own timestamp.
    private static func dated(_ own: String) -> String {
        """
        max(i.at, CASE WHEN i.at = \(Int64.min) OR i.columns LIKE '%true%' OR i.rest IS NULL AND i.columns IS NOT NULL THEN \(own) ELSE i.at END),
            CASE WHEN i.columns IS NOT NULL THEN ifnull(i.rest, \(own)) END,
            CASE WHEN i.born = \(Int64.min) THEN max(\(own), \(Instant.earliest.microseconds)) ELSE i.born END,
            CASE WHEN i.columns LIKE '%true%' THEN snapsync_dated(i.columns, \(own)) ELSE i.columns END
        """
    }

    /// An entity whose instants the applied version states and that it does not have; nil if there is none. Call it while the tables have the
    /// version's rows alone.
    package func strayKey(of schema: DatasetSchema) throws -> EntityKey? {
        try firstKey(
            """
            SELECT key FROM snapsync_instants i WHERE dataset = ?1 AND NOT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "i.key")))
                AND NOT EXISTS (SELECT 1 FROM snapsync_held h WHERE h.dataset = ?1 AND h.key = i.key)
            """, schema)
    }

    /// An entity of the applied version that the version also calls held or deleted; nil if there is none. Call it while the tables have the version's
    /// rows alone. Time: a lookup for each held entity and tombstone.
    package func doubledKey(of schema: DatasetSchema) throws -> EntityKey? {
        try firstKey(
            """
            SELECT key FROM (SELECT key FROM snapsync_held WHERE dataset = ?1 UNION ALL SELECT key FROM snapsync_tombstones WHERE dataset = ?1) x
            WHERE EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) t WHERE \(schema.keySQL.matches("t", "x.key")))
            """, schema)
    }

    private func firstKey(_ keys: String, _ schema: DatasetSchema) throws -> EntityKey? {
        guard let id = try trackingID(schema) else { return nil }
        let found = try KeyedStatement(db, "\(keys) LIMIT 1").bind(.integer(id))
        defer { found.end() }
        return try found.step() ? found.key(0) : nil
    }

    /// States the own timestamp of a row as its instant, before an edit changes the timestamp: the columns that the edit leaves alone keep it.
    func keepOwnInstant(of key: EntityKey, in schema: DatasetSchema) throws {
        guard schema.timestampIndex != nil, let id = try trackingID(schema) else { return }
        try KeyedStatement(
            db,
            """
            INSERT OR IGNORE INTO snapsync_instants(dataset, key, at) SELECT ?1, ?2, \(schema.ownInstantSQL) FROM main.\(schema.table.sqlIdentifier) t
            WHERE \(schema.keySQL.matches("t", "?2")) AND \(schema.ownInstantSQL) IS NOT NULL
            """
        ).bind(.integer(id), .key(key)).run()
    }

    /// The instants that the applied version states for an entity.
    package func instants(of key: EntityKey, in schema: DatasetSchema) throws -> RowInstants {
        guard let id = try trackingID(schema) else { return RowInstants() }
        let row = try KeyedStatement(db, "SELECT at, rest, born, columns FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key))
        defer { row.end() }
        return try row.step() ? RowInstants(row, from: 0) : RowInstants()
    }

    /// The instant that the applied version records for an entity; nil if the version relies on the entity's own timestamp.
    package func appliedInstant(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_instants", key, of: schema)
    }

    /// When the applied version says that an entity was deleted; nil if it has no tombstone.
    package func tombstone(of key: EntityKey, in schema: DatasetSchema) throws -> Instant? {
        try lookUp("snapsync_tombstones", key, of: schema)
    }

    /// Stores what a version says of an entity that it has in its table: its instant, or nil if the entity's own timestamp is the instant.
    package func setPresent(_ key: EntityKey, at instant: Instant?, in schema: DatasetSchema) throws {
        try setPresent(key, RowInstants(row: instant), own: .distantPast, in: schema)
    }

    /// Stores what a version says of an entity that it has in its table.
    ///
    /// - Parameter own: the entity's own timestamp.
    package func setPresent(_ key: EntityKey, _ instants: RowInstants, own: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        for table in [LocalTable.tombstones, .held] {
            try KeyedStatement(db, "DELETE FROM \(table.name) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        }
        try set(instants, of: key, own: own, in: schema)
    }

    /// Stores the instants of an entity, in place of all that are there.
    ///
    /// - Parameter own: the entity's own timestamp.
    package func set(_ instants: RowInstants, of key: EntityKey, own: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        guard instants != RowInstants() else {
            return try KeyedStatement(db, "DELETE FROM snapsync_instants WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        }
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_instants(dataset, key, at, rest, born, columns) VALUES(?, ?, ?, ?, ?, ?)").bind(
            .integer(id), .key(key), .instant(instants.latest(own: own)), instants.columns.isEmpty ? .null : .instant(instants.row ?? own),
            instants.born.map { .instant($0) } ?? .null, instants.columns.isEmpty ? .null : .text(ColumnInstants(instants.columns).text)
        ).run()
    }

    /// Records what the published version, which contains the tracked changes up to a sequence number, says of their entities.
    func setChanged(of schema: DatasetSchema, upTo sequence: Int64) throws {
        guard let id = try trackingID(schema) else { return }
        let arguments: StatementArguments = ["id": id, "seq": sequence]
        let those = "SELECT key FROM snapsync_changes WHERE dataset = :id AND seq <= :seq"
        for (table, state) in [(LocalTable.tombstones, "state < \(TrackedState.deleted)"), (.held, "state < \(TrackedState.deleted)")] {
            // SQLite collects all those keys before it looks up the first one. An empty table makes that work needless.
            guard try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(table.name) WHERE dataset = ?)").bind(.integer(id)).integer() == 1 else { continue }
            try db.execute(sql: "DELETE FROM \(table.name) WHERE dataset = :id AND key IN (\(those) AND \(state))", arguments: arguments)
        }
        try db.execute(
            sql: """
                INSERT OR REPLACE INTO snapsync_tombstones SELECT dataset, key, at FROM snapsync_changes
                WHERE dataset = :id AND seq <= :seq AND state = \(TrackedState.deleted)
                """, arguments: arguments)
        try db.execute(
            sql:
                "INSERT OR REPLACE INTO snapsync_instants(dataset, key, at, rest, born, columns) SELECT :id, key, at, rest, born, columns FROM (\(Self.changed(schema, id: ":id"))) WHERE seq <= :seq",
            arguments: arguments)
        try db.execute(
            sql: """
                DELETE FROM snapsync_instants WHERE dataset = :id AND key IN (\(those) AND state <> \(TrackedState.stamped))
                    AND (rest IS NULL AND born IS NULL AND columns IS NULL OR key IN (\(those) AND state = \(TrackedState.deleted)))
                    AND NOT EXISTS (SELECT 1 FROM snapsync_held h WHERE h.dataset = snapsync_instants.dataset AND h.key = snapsync_instants.key)
                """, arguments: arguments)
    }

    /// The records of rows with tracked changes in the version that has these changes: key, at, rest, born, columns, the changes' `seq`, and the rows'
    /// own timestamps.
    ///
    /// Of a change of some columns, the row's other columns and its insertion keep their instants, which may be later than a reader's edit; a change of
    /// all of them leaves only the insertion's. The change's base is the instant that the row had, if the version relied on its timestamp.
    /// A row of the version that was deleted and inserted again is still that row.
    fileprivate static func changed(_ schema: DatasetSchema, id: String) -> String {
        let own = schema.timestampIndex == nil ? "\(Int64.min)" : "ifnull(\(schema.ownInstantSQL), \(Int64.min))", earliest = Instant.earliest.microseconds
        let isOfVersion = TrackedChange.isOfVersion("c"), known = "\(isOfVersion) OR i.key IS NOT NULL"
        return """
            SELECT key, CASE WHEN parts IS NOT NULL THEN max(at, ifnull(latest, before)) ELSE at END AS at, CASE WHEN parts IS NOT NULL THEN before END AS rest,
                CASE WHEN parts IS NOT NULL THEN coalesce(own, born)
                    ELSE nullif(max(coalesce(own, born, CASE WHEN isKnown THEN min(before, at) END), \(earliest)), max(at, \(earliest))) END AS born,
                CASE WHEN columns IS NULL THEN parts WHEN parts IS NOT NULL THEN json_patch(columns, parts) END AS columns, seq, stamp
            FROM (SELECT c.key, c.at, c.seq, \(schema.ownInstantSQL) AS stamp, c.born AS own, i.at AS latest, i.born, i.columns, \(known) AS isKnown,
                    coalesce(i.rest, i.at, nullif(c.base, c.at), \(own)) AS before,
                    CASE WHEN \(known) THEN snapsync_column_instants(nullif(c.changed, ''), c.at, \(ColumnInstants.names(of: schema))) END AS parts
                FROM snapsync_changes c JOIN \(schema.table.sqlIdentifier) t ON \(schema.keySQL.matches("t", "c.key"))
                LEFT JOIN snapsync_instants i ON i.dataset = c.dataset AND i.key = c.key
                WHERE c.dataset = \(id) AND (c.state = \(TrackedState.stamped) OR \(known) OR c.changed <> ''
                    OR c.born <> c.at)) x
            """
    }

    /// Stores what a version says of an entity that it no longer has: when it was deleted.
    package func setDeleted(_ key: EntityKey, at instant: Instant, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        for table in [LocalTable.instants, .held] {
            try KeyedStatement(db, "DELETE FROM \(table.name) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).run()
        }
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

    private func lookUp(_ table: String, _ key: EntityKey, of schema: DatasetSchema) throws -> Instant? {
        guard let id = try trackingID(schema) else { return nil }
        return try KeyedStatement(db, "SELECT at FROM \(table) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).integer().map(
            Instant.init(microseconds:))
    }
}

extension RowInstants {
    /// Reads at, rest, born and columns of a record.
    ///
    /// - Parameter columns: reads the columns; nil to decode them anew.
    init(_ row: KeyedStatement, from first: Int32, columns: ((UnsafeRawBufferPointer?) -> [ExactText: Instant])? = nil) {
        let text = row.text(first + 3), columns = columns?(text) ?? text.flatMap { ColumnInstants($0) }?.known ?? [:]
        let rest = row.isNull(first + 1) ? row.instant(first) : row.instant(first + 1)
        self.init(row: rest, born: row.isNull(first + 2) ? nil : row.instant(first + 2), columns: columns)
    }
}

/// The instants that the next version must state, in key order.
private final class InstantCursor {
    struct Entry {
        let key: EntityKey
        let instants: RowInstants
        let own: Instant?
        let isHeld: Bool
    }

    private let schema: DatasetSchema
    private let rows: KeyedStatement?
    private let names: Set<ExactText>
    private var held: ArraySlice<(key: EntityKey, instants: RowInstants, own: Instant?)>
    private var waiting: Entry?
    private var hasEnded = false
    /// The columns of the last record: statements change many rows alike.
    private var last: (text: [UInt8], columns: [ExactText: Instant]) = ([], [:])

    init(_ tables: TombstonesAndInstants, _ schema: DatasetSchema, onlyChanged: Bool = false) throws {
        self.schema = schema
        names = Set(schema.columns.map(\.name.exact))
        // A table that is not tracked has no instants.
        guard let id = try tables.trackingID(schema) else {
            (rows, held, hasEnded) = (nil, [], true)
            return
        }
        // SQLite merges the two parts, which it reads in the order of keys.
        let others = """
            UNION ALL SELECT b.key, b.at, b.rest, b.born, b.columns, \(schema.ownInstantSQL)
            FROM snapsync_instants b JOIN \(schema.table.sqlIdentifier) t ON \(schema.keySQL.matches("t", "b.key")) WHERE b.dataset = ?1
                AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)
            """
        let changed = "SELECT key, at, rest, born, columns, stamp FROM (\(TombstonesAndInstants.changed(schema, id: "?1")))"
        rows = try KeyedStatement(tables.db, "\(changed) \(onlyChanged ? "" : others) ORDER BY 1").bind(.integer(id))
        held = try onlyChanged ? [] : tables.transaction.held.instants(of: schema)[...]
    }

    func end() { rows?.end() }

    func next() throws -> Entry? {
        if waiting == nil, !hasEnded { waiting = try nextRow() }
        if let first = held.first, waiting.map({ first.key < $0.key }) ?? true {
            held.removeFirst()
            let instants = RowInstants(row: first.instants.row, born: first.instants.born, columns: stated(first.instants.columns))
            return Entry(key: first.key, instants: stated(instants, first.own), own: first.own, isHeld: true)
        }
        return waiting.take()
    }

    private func nextRow() throws -> Entry? {
        while let rows, try rows.step() {
            guard let key = rows.key(0) else { continue }
            let own = rows.isNull(5) ? nil : rows.instant(5)
            return Entry(key: key, instants: stated(RowInstants(rows, from: 1, columns: columns), own), own: own, isHeld: false)
        }
        hasEnded = true
        return nil
    }

    private func columns(_ text: UnsafeRawBufferPointer?) -> [ExactText: Instant] {
        guard let text else { return [:] }
        if !text.elementsEqual(last.text) { last = (Array(text), stated(ColumnInstants(text)?.known ?? [:])) }
        return last.columns
    }

    private func stated(_ columns: [ExactText: Instant]) -> [ExactText: Instant] {
        columns.filter { names.contains($0.key) }.mapValues { max($0, .earliest) }
    }

    /// What of the instants must be stated beside the row's own timestamp.
    private func stated(_ instants: RowInstants, _ own: Instant?) -> RowInstants {
        let row = max(instants.row ?? own ?? .earliest, .earliest)
        return RowInstants(
            row: row == max(own ?? .earliest, .earliest) ? nil : row, born: instants.born.flatMap { $0 == row || $0 == .distantPast ? nil : $0 },
            columns: instants.columns)
    }
}
