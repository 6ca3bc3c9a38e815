import GRDB
package import SnapshotModel
package import StrictText

/// Why an entity could not stay in its table.
package struct SetAsideReason: Hashable, Sendable {
    package let name: String

    /// It refers to an entity that is not there and was not known here.
    package static let parentMissing = SetAsideReason(name: "parentMissing")
    /// Another entity has a value that only one may have, and has it later.
    package static let valueTaken = SetAsideReason(name: "valueTaken")
    /// It was changed here before the time of which the cloud no longer knows what was deleted, and the cloud has it no longer.
    package static let tooOld = SetAsideReason(name: "tooOld")

    package init(name: String) { self.name = name }
}

/// An entity that was taken out of its table and kept.
package struct SetAsideEntity: Hashable, Sendable {
    package let key: EntityKey
    /// Canonical JSON.
    package let entity: String
    package let reason: SetAsideReason
    /// The instant of the entity.
    package let instant: Instant
    /// The instant with which the entity was removed here, where it was the version's and had to give way; nil for a change made here.
    package let displacedAt: Instant?

    package init(key: EntityKey, entity: String, reason: SetAsideReason, instant: Instant, displacedAt: Instant?) {
        self.key = key
        self.entity = entity
        self.reason = reason
        self.instant = instant
        self.displacedAt = displacedAt
    }
}

extension LocalTransaction {
    /// The entities of a dataset that were set aside, in key order.
    package func setAsideEntities(of schema: DatasetSchema) throws -> [SetAsideEntity] {
        guard try db.hasTable("snapsync_set_aside") else { return [] }
        return try Row.fetchAll(
            db, sql: "SELECT key, entity, reason, at, displacedAt FROM snapsync_set_aside WHERE dataset = ? ORDER BY key", arguments: [schema.name]
        ).compactMap { row in
            EntityKey(row[0] as DatabaseValue).map {
                SetAsideEntity(
                    key: $0, entity: row[1], reason: SetAsideReason(name: row[2]), instant: Instant(microseconds: row[3]),
                    displacedAt: (row[4] as Int64?).map(Instant.init(microseconds:)))
            }
        }
    }

    /// Keeps an entity that is taken out of its table; of two with one key the later.
    package func addSetAside(_ one: SetAsideEntity, of schema: DatasetSchema) throws {
        try createGuardTables()
        try db.execute(
            sql: """
                INSERT INTO snapsync_set_aside(dataset, key, entity, reason, at, displacedAt) VALUES(?, ?, ?, ?, ?, ?)
                ON CONFLICT(dataset, key) DO UPDATE SET entity = excluded.entity, reason = excluded.reason, at = excluded.at, displacedAt = excluded.displacedAt
                WHERE excluded.at >= at
                """,
            arguments: [schema.name, one.key.databaseValue, one.entity, one.reason.name, one.instant.microseconds, one.displacedAt?.microseconds])
    }

    /// Forgets an entity that was set aside: it is back, or something later took its place.
    package func dropSetAside(_ key: EntityKey, of schema: DatasetSchema) throws {
        try db.execute(sql: "DELETE FROM snapsync_set_aside WHERE dataset = ? AND key = ?", arguments: [schema.name, key.databaseValue])
    }

    /// Runs `body`; if it returns false or a constraint refuses what it does, nothing of it is kept. Returns whether it was kept.
    package func attempting(_ body: () throws -> Bool) throws -> Bool {
        var isKept = false
        do {
            try db.inSavepoint {
                isKept = try body()
                return isKept ? .commit : .rollback
            }
        } catch let error as LocalStoreError where error.code == .badRow {
            return false
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            return false
        }
        return isKept
    }
}
