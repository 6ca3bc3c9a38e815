import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

// What a merge leaves of edits.
extension ChangeLog {
    /// Stores what a merge has left of an edit.
    ///
    /// - Parameters:
    ///   - isInVersion: whether the version's table has a row with the key; nil if the version holds it.
    ///   - gone: when the version's row was deleted that the edit brings back; nil if it brings none back.
    package func store(_ edit: Edit, of key: EntityKey, in schema: DatasetSchema, isInVersion: Bool?, restoring gone: Instant? = nil) throws {
        guard let id = try trackingID(schema) else { return }
        let origin: TrackedOrigin = gone != nil || isInVersion == nil ? .unknown : isInVersion == false ? .new : edit.inserts ? .unknown : .inVersion
        let isVersions = gone != nil || origin == .inVersion || edit.isDeletion && isInVersion == nil
        var changed: String?
        if case .columns(let columns, let values) = edit.change,
            gone != nil || columns.count < values.count || columns.values.contains(where: { $0 != edit.at })
        {
            changed = ChangedColumns.some(columns).encoded(at: edit.at)
        }
        if let gone { try restore(key, deleted: gone, born: edit.born, in: schema) }
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_changes(dataset, key, at, seq, state, isNew, changed, base, born) VALUES(?1, ?2, ?3, ?4, \(Self.state(of: schema)), ?5, ?6, ?3, ?7)
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, state = excluded.state, isNew = excluded.isNew, changed = excluded.changed, born = excluded.born
            """
        ).bind(
            .integer(id), .key(key), .instant(edit.at), .integer(nextSequence()),
            .integer(origin.rawValue), .optional(changed), isVersions ? .null : .instant(edit.born)
        ).run()
    }

    /// Records what the version's row was that an edit brings back: with its *born*, and all of its columns as old as its deletion. The edit stays one of
    /// that row.
    private func restore(_ key: EntityKey, deleted gone: Instant, born: Instant, in schema: DatasetSchema) throws {
        try transaction.tombstonesAndInstants.set(RowInstants(row: max(gone, .earliest), born: born), of: key, own: .distantPast, in: schema)
    }

    /// Turns the insertion of a row that was held into an edit of that row.
    ///
    /// - Parameter isVersions: whether a version has the row. Otherwise all columns of it are this device's own.
    package func trackEdit(of row: VersionRow, as values: [OwnedValue], of key: EntityKey, in schema: DatasetSchema, isVersions: Bool) throws {
        guard let id = try trackingID(schema) else { return }
        let at = max(try change(of: key, in: schema)?.instant ?? .earliest, row.at.advanced(byMicroseconds: 1))
        let edited = try ColumnGroups(db, schema).closed(values.indices.filter { values[$0] != row.values[$0] })
        var columns: [Int: Instant] = isVersions ? [:] : Dictionary(uniqueKeysWithValues: row.instants.enumerated().map { ($0, $1) })
        for column in edited { columns[column] = at }
        // The version has the row, but not in its table.
        let origin: TrackedOrigin = isVersions ? .unknown : .new
        try KeyedStatement(
            db,
            "UPDATE snapsync_changes SET at = ?3, state = \(Self.state(of: schema)), isNew = ?4, changed = ?5, born = ?6 WHERE dataset = ?1 AND key = ?2"
        ).bind(
            .integer(id), .key(key), .instant(at), .integer(origin.rawValue), .optional(ChangedColumns.some(columns).encoded(at: at)), .instant(row.born)
        ).run()
    }

    /// Forgets the change of a row that is held from now on. A row that the version may show is still deleted from its table.
    package func hold(_ key: EntityKey, in schema: DatasetSchema) throws {
        if let change = try change(of: key, in: schema), change.isDeletion, change.isInVersion != false { return }
        try forget(of: key, in: schema)
    }

    /// Tracks what stands of another device's edit, which this device has put on its tables.
    ///
    /// - Parameters:
    ///   - wasThere: whether the table had a row with the key before; of a deletion, whether there was one, shown or held.
    ///   - isHeld: whether the version holds the row.
    ///   - base: the instant of what the edit replaces; nil if it replaces nothing.
    ///   - gone: when the row was deleted that the edit brings back; nil if it brings none back.
    package func adopt(
        _ edit: Edit, of key: EntityKey, in schema: DatasetSchema, wasThere: Bool, isHeld: Bool, base: Instant?, restoring gone: Instant? = nil
    ) throws {
        guard let id = try trackingID(schema) else { return }
        let earlier = try change(of: key, in: schema), at = max(edit.at, earlier?.instant ?? edit.at)
        // Otherwise this device has deleted the row, and the version still has it.
        let isVersions = gone != nil && earlier == nil
        var changed: String?
        if case .columns(var columns, let values) = edit.change {
            if let earlier, wasThere { columns = earlier.instants(of: schema).merging(columns) { $1 } }
            if let gone, !isVersions { for column in values.indices { columns[column] = max(columns[column] ?? .earliest, gone) } }
            if isVersions || columns.count < values.count || columns.values.contains(where: { $0 != at }) {
                changed = ChangedColumns.some(columns).encoded(at: at)
            }
        }
        var origin = earlier?.origin ?? (wasThere ? .inVersion : .new)
        // An insertion in place of the version's row is a row of its own.
        if isVersions || edit.inserts && origin == .inVersion { origin = .unknown }
        // The device that deleted the row knows it, even if no version had it. A version's table does not have the rows that the version holds.
        if edit.isDeletion, origin == .new || isHeld && earlier == nil { origin = .unknown }
        let hasBorn = edit.inserts || !wasThere
        if let gone, isVersions { try restore(key, deleted: gone, born: edit.born, in: schema) }
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_changes(dataset, key, at, seq, state, isNew, cause, changed, born, base)
                VALUES(?1, ?2, ?3, ?4, \(Self.state(of: schema)), ?5, \(ChangeCause.known), ?6, ?7, ?9)
            ON CONFLICT(dataset, key) DO UPDATE SET at = excluded.at, seq = excluded.seq, state = excluded.state, cause = excluded.cause, changed = excluded.changed,
                isNew = excluded.isNew, born = CASE WHEN ?8 THEN excluded.born ELSE born END
            """
        ).bind(
            .integer(id), .key(key), .instant(at), .integer(nextSequence()), .integer(origin.rawValue), .optional(changed),
            hasBorn && !isVersions && !edit.isDeletion ? .instant(edit.born) : .null, .integer(hasBorn ? 1 : 0), base.map { .instant($0) } ?? .null
        ).run()
    }

    /// Gives what the log has in the place of unpublished edits of readers the instants that the edits replaced: the readers learn that they were refused.
    package func refuseOverwritten(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        let logged = "SELECT \(schema.keySQL.unlogged("key")) FROM snapsync_log WHERE dataset = ?1"
        let found = try Row.fetchAll(
            db, sql: "SELECT key, base FROM snapsync_changes WHERE dataset = ?1 AND cause = \(ChangeCause.known) AND base IS NOT NULL AND key IN (\(logged))",
            arguments: [id])
        guard !found.isEmpty else { return }
        try consolidate(of: [schema])
        for row in found {
            try db.execute(
                sql: """
                    UPDATE snapsync_changes SET at = ?3, state = \(TrackedState.stamped), cause = \(ChangeCause.known), changed = NULL
                    WHERE dataset = ?1 AND key = ?2 AND state <> \(TrackedState.deleted)
                    """, arguments: [id, row["key"] as DatabaseValue, row["base"] as Int64])
        }
    }

    /// Takes edits that a version has decided out of the tracked change of their row. What was edited after them stays.
    ///
    /// - Parameter decided: the edits in the order of their numbers.
    func settle(_ decided: [Edit], of key: EntityKey, in schema: DatasetSchema) throws {
        guard let id = try trackingID(schema), let change = try change(of: key, in: schema), let last = decided.last else { return }
        if change.isDeletion {
            if last.isDeletion {
                if change.instant <= last.at { try forget(of: key, in: schema) }
            } else {
                // The version may have the row by now, and may hold it.
                try KeyedStatement(db, "UPDATE snapsync_changes SET isNew = \(TrackedOrigin.unknown), born = NULL WHERE dataset = ? AND key = ?")
                    .bind(.integer(id), .key(key)).run()
            }
            return
        }
        var sent: [Int: Instant] = [:], isInserted = false
        for edit in decided {
            switch edit.change {
            case .deleted(let at): (sent, isInserted) = (Dictionary(uniqueKeysWithValues: schema.columns.indices.map { ($0, at) }), false)
            case .columns(let columns, _):
                sent.merge(columns) { max($0, $1) }
                isInserted = isInserted || edit.inserts
            }
        }
        let rest = change.instants(of: schema).filter { column, at in sent[column].map { at > $0 } ?? true }
        guard !rest.isEmpty else { return try forget(of: key, in: schema) }
        // A row that was inserted again after its deletion; with fewer columns, the deletion has lost to another device's edit.
        let isAnother = last.isDeletion && rest.count == schema.columns.count
        let origin: Int64? = isAnother ? TrackedOrigin.new.rawValue : isInserted ? TrackedOrigin.inVersion.rawValue : nil
        try KeyedStatement(
            db,
            """
            UPDATE snapsync_changes SET changed = ?3, isNew = ifnull(?4, isNew), born = CASE WHEN ?4 IS NULL THEN born ELSE ?5 END,
                base = CASE ?4 WHEN \(TrackedOrigin.inVersion) THEN ifnull(base, ?6) ELSE base END
            WHERE dataset = ?1 AND key = ?2
            """
        ).bind(
            .integer(id), .key(key), .optional(ChangedColumns.some(rest).encoded(at: change.instant)), origin.map { .integer($0) } ?? .null,
            isAnother ? .instant(last.born) : .null, .instant(last.at)
        ).run()
    }

    /// Names the columns of changes that were handed over as a whole, so that what is edited after that is told apart.
    func spellColumns(of schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        try db.execute(
            sql: """
                UPDATE snapsync_changes AS c SET changed = ? WHERE dataset = ? AND changed IS NULL AND state < \(TrackedState.deleted)
                    AND EXISTS (SELECT 1 FROM snapsync_sent s WHERE s.dataset = c.dataset AND s.key = c.key AND s.seq = c.seq)
                """, arguments: [schema.columns.indices.map(String.init).joined(separator: " "), id])
    }

    /// Tracks a row that was held in the version and is in its table now, with its instant.
    ///
    /// - Parameter publishes: whether the next version of this device shows it. Otherwise nobody has edited it.
    package func trackShown(_ key: EntityKey, of schema: DatasetSchema, publishes: Bool = true) throws {
        let instants = try transaction.tombstonesAndInstants.instants(of: key, in: schema), own = try transaction.rows.ownInstant(of: key, in: schema)
        let at = schema.columns.map { max(instants.instant(of: $0.name.exact, own: own), .earliest) }
        let columns = publishes ? Dictionary(uniqueKeysWithValues: at.enumerated().map { ($0, $1) }) : [:]
        let edit = Edit(
            base: .nothing, change: .columns(columns, values: at.map { _ in .null }), born: max(instants.born(own: own), .earliest))
        try store(edit, of: key, in: schema, isInVersion: nil)
        guard !publishes, let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "UPDATE snapsync_changes SET at = ?3, cause = \(ChangeCause.carried) WHERE dataset = ?1 AND key = ?2")
            .bind(.integer(id), .key(key), .instant(at.max() ?? .earliest)).run()
    }
}

extension TrackedChange {
    /// The changed columns, each with its instant.
    fileprivate func instants(of schema: DatasetSchema) -> [Int: Instant] {
        switch columns {
        case .some(let some): some
        case .all: Dictionary(uniqueKeysWithValues: schema.columns.indices.map { ($0, instant) })
        }
    }
}
