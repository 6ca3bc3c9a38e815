import GRDB
package import SnapshotModel
import StrictText

/// The unpublished edits of a database that was detached: the table `snapsync_detached`.
///
/// They stay there until the next `init` of the same database with the same zone. The first import after that merges them and
/// then deletes them.
package struct DetachedChanges: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.detached.name

    /// Copies the tracked changes, before `detach` drops the tables that hold them.
    ///
    /// If the database has no version in common with the zone, it copies nothing: all rows are the database's own, and the next `init` treats
    /// them so.
    ///
    /// - Returns: how many changes are kept.
    package func keep(of settings: SyncSettings) throws -> Int {
        guard try transaction.tracking.hasTables() else { return 0 }
        try transaction.changeLog.consolidate(of: settings.datasets)
        let hasVersion = try transaction.state.applied() != nil
        guard try hasVersion || db.hasTable(Self.table) else { return 0 }
        let count = try settings.datasets.reduce(0) { try $0 + (trackingID($1) == nil ? 0 : transaction.changeLog.summary(of: $1).count) }
        if hasVersion { try db.execute(sql: "DROP TABLE IF EXISTS \(Self.table)") }
        guard count > 0 else { return 0 }
        try LocalTable.detached.create(in: db)
        for schema in settings.datasets {
            guard let id = try trackingID(schema) else { continue }
            // Before the first import, only the changes that an earlier `detach` kept relate to a version.
            let those = hasVersion ? "" : "AND EXISTS (SELECT 1 FROM \(Self.table) d WHERE d.dataset = ?3 AND d.key = c.key)"
            // The instants of the version are gone after this.
            let born = "CASE WHEN c.isNew = \(TrackedOrigin.inVersion) THEN coalesce(c.born, i.born, i.rest, i.at, c.base, \(Int64.min)) ELSE c.born END"
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO \(Self.table)
                    SELECT ?1, ?2, ?3, c.key, c.at, c.base, c.isNew, \(born), c.changed, \(ColumnInstants.names(of: schema, withKey: true))
                    FROM snapsync_changes c LEFT JOIN snapsync_instants i ON i.dataset = c.dataset AND i.key = c.key WHERE c.dataset = ?4 \(those)
                    """, arguments: [settings.cloudUUID, settings.zone, schema.name, id])
        }
        return try Int.fetchOne(db, sql: "SELECT count(*) FROM \(Self.table)") ?? 0
    }

    /// Tracks the kept changes again if they belong to the zone of the settings. Deletes them instead if the zone's rows will replace the
    /// database's rows.
    ///
    /// - Returns: how many changes are tracked again.
    package func restore(for settings: SyncSettings) throws -> Int {
        guard try db.hasTable(Self.table) else { return 0 }
        guard !settings.replacesOwnRows else {
            try db.execute(sql: "DROP TABLE \(Self.table)")
            return 0
        }
        var count = 0
        for schema in settings.datasets {
            guard let id = try trackingID(schema) else { continue }
            let table = schema.table.sqlIdentifier, key = schema.keySQL
            let stamp = schema.ownInstantSQL
            for names in try String.fetchAll(db, sql: "SELECT DISTINCT names FROM \(Self.table) WHERE dataset = ?", arguments: [schema.name]) {
                let before = try String.fetchAll(db, sql: "SELECT value FROM json_each(?)", arguments: [names]).map(\.exact)
                let positions = before.map { name in schema.columns.firstIndex { $0.name.exact == name } }
                try transaction.changeLog.renumbering(positions) {
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO snapsync_changes(dataset, key, at, seq, state, base, isNew, born, changed)
                            SELECT ?1, key, at, 0, coalesce(
                                (SELECT CASE WHEN \(stamp) IS d.at OR d.at = \(Int64.min) THEN 0 ELSE 1 END FROM \(table) t WHERE \(key.matches("t", "d.key"))), 2),
                                base, isNew, born, snapsync_renumbered(changed)
                            FROM \(Self.table) d WHERE cloud = ?2 AND zone = ?3 AND dataset = ?4 AND names = ?5
                            """, arguments: [id, settings.cloudUUID, settings.zone, schema.name, names])
                    count += db.changesCount
                }
                try CarriedColumns.track(
                    schema.columns.filter { !before.contains($0.name.exact) }, of: schema, in: transaction, order: .after)
            }
        }
        return count
    }

    /// Whether changes of a dataset were kept by `detach` and no version has been imported since.
    package func hasAny(of schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable(Self.table) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(Self.table) WHERE dataset = ?)").bind(.text(schema.name)).integer() == 1
    }

    /// Whether a change of an entity was kept by `detach`.
    package func contains(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM \(Self.table) WHERE dataset = ? AND key = ?)").bind(.text(schema.name), .key(key)).integer() == 1
    }

    /// Deletes the kept changes of a dataset, after an import merged them with a version.
    package func forget(of schema: DatasetSchema) throws {
        guard try db.hasTable(Self.table) else { return }
        try KeyedStatement(db, "DELETE FROM \(Self.table) WHERE dataset = ?").bind(.text(schema.name)).run()
        if try Int.fetchOne(db, sql: "SELECT count(*) FROM \(Self.table)") == 0 { try db.execute(sql: "DROP TABLE \(Self.table)") }
    }
}
