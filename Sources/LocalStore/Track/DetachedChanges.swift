import Foundation
import GRDB
package import LocalTables
import Platform
package import SnapshotModel
import StrictText

/// The unpublished edits of a database that was detached: the table `snapsync_detached`.
///
/// They stay there until the next `init` of the same database with the same zone. The first import after that merges them and
/// then deletes them.
package struct DetachedChanges: TransactionPart {
    package let transaction: LocalTransaction

    static let table = LocalTable.detached.name

    /// Copies the tracked changes, before `detach` drops the tables that hold them.
    ///
    /// If the database has no version in common with the zone, it copies nothing: all rows are the database's own, and the next `init` treats
    /// them so.
    ///
    /// - Returns: how many changes are kept.
    package func keep(of settings: SyncSettings) throws -> Int {
        guard try transaction.hasTrackingTables() else { return 0 }
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
            let isOfVersion = TrackedChange.isOfVersion("c")
            let born = "CASE WHEN \(isOfVersion) THEN coalesce(i.born, i.rest, i.at, c.base, \(Int64.min)) ELSE c.born END"
            let origin = "CASE WHEN \(isOfVersion) THEN \(TrackedOrigin.inVersion) ELSE c.isNew END"
            try db.execute(
                sql: """
                    INSERT OR REPLACE INTO \(Self.table)
                    SELECT ?1, ?2, ?3, c.key, c.at, c.base, \(origin), \(born), c.changed, \(ColumnInstants.names(of: schema))
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

/// The device that a database was before `detach`: the file `FILE.snapsync-device` beside it, which the next `init` reads and removes.
///
/// It is stored outside of the database because `detach` leaves nothing of the toolkit's in it. The file names the database by its inode, so a
/// copy of both files does not count as the same device.
package struct DetachedDevice: Hashable, Sendable, Codable {
    /// The UUID of the cloud that the database belonged to.
    package let cloudUUID: String
    package let zone: String
    /// The device's name in the zone.
    package let device: String
    /// The nonces that the device's reports in the zone may carry; nil if it never reported.
    package let nonces: ReportNonces?
    /// The inode of the database's file.
    let fileNumber: UInt64

    /// Describes the device of a database that is about to be detached.
    package init(_ settings: SyncSettings, nonces: ReportNonces?, database: String) throws {
        guard let file = FileTimes(ofFile: database) else {
            throw SyncError(database: .notFound, at: database, "there is no such database", hint: "check the path")
        }
        (cloudUUID, zone, device) = (settings.cloudUUID, settings.zone, settings.device)
        self.nonces = nonces
        fileNumber = file.fileNumber
    }

    /// Whether `detach` of this very database wrote the file. False beside a copy of the database.
    package func isOf(database: String) -> Bool { FileTimes(ofFile: database)?.fileNumber == fileNumber }

    /// The file beside a database. If `database` is a link, it is beside the link's target.
    package static func path(for database: String) -> String { (System.destination(ofLink: database) ?? database) + ".snapsync-device" }

    /// Reads the file of a database; nil if there is none, or if it cannot be read.
    package init?(besides database: String) {
        guard let data = FileManager.default.contents(atPath: Self.path(for: database)), let value = try? StrictJSON.decode(Self.self, from: data) else {
            return nil
        }
        self = value
    }

    /// Writes the file beside a database.
    ///
    /// - Throws: ``SyncError`` with `.permissionDenied` or `.inputOutput`; no file is left behind then.
    package func write(besides database: String) throws {
        let path = Self.path(for: database), temporary = path + "-" + String(UInt64.random(in: 0 ... .max), radix: 16)
        do {
            try StrictJSON.encode(self).withUnsafeBytes {
                try FileReplacement.replace(path, by: $0, through: temporary, mode: 0o600, like: database)
            }
        } catch let fault as SystemFault {
            throw SyncError(
                database: fault.isForbidden ? .permissionDenied : .inputOutput, at: path, "the device's name cannot be kept: \(fault.words)",
                hint: "check that the database's folder can be written and has room, then run the same command again")
        }
    }

    /// Removes the file of a database.
    package static func remove(besides database: String) { System.unlink(path(for: database)) }
}
