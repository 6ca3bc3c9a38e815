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
    /// It was deleted, others still need it, and another entity has a value by now that only one may have.
    package static let parentNeeded = SetAsideReason(name: "parentNeeded")
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
    /// The instant of the deletion that is tracked for it, where it was the version's and lost; nil for a change made here. An earlier snapsync
    /// had the winner's instant here, now it is the entity's own.
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
    static let setAsideTable = "snapsync_set_aside"

    /// Makes the table of what was set aside where it is missing: in databases that an earlier snapsync has set up.
    func createSetAsideTable() throws {
        try db.execute(sql: """
            CREATE TABLE IF NOT EXISTS snapsync_set_aside(
                dataset TEXT NOT NULL, key, entity TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, displacedAt INTEGER,
                PRIMARY KEY(dataset, key)) WITHOUT ROWID
            """)
    }

    /// Whether anything is set aside that can come back by itself, of any dataset.
    package func hasSetAside() throws -> Bool {
        guard try db.hasTable(Self.setAsideTable) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_set_aside WHERE reason <> 'tooOld')").bind().integer() == 1
    }

    /// The entities of a dataset that were set aside, in key order.
    package func setAsideEntities(of schema: DatasetSchema) throws -> [SetAsideEntity] { try setAsideEntities(of: schema, nil) }

    /// The entity of a key that was set aside; nil if there is none.
    package func setAsideEntity(_ key: EntityKey, of schema: DatasetSchema) throws -> SetAsideEntity? { try setAsideEntities(of: schema, key).first }

    /// Whether the entity of a key is set aside and comes back by itself when it can.
    func isSetAsideToReturn(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try setAsideEntity(key, of: schema).map { $0.reason != .tooOld } ?? false
    }

    private func setAsideEntities(of schema: DatasetSchema, _ key: EntityKey?) throws -> [SetAsideEntity] {
        guard try db.hasTable(Self.setAsideTable) else { return [] }
        let rows = try KeyedStatement(db, "SELECT key, entity, reason, at, displacedAt FROM snapsync_set_aside WHERE dataset = ? \(key == nil ? "" : "AND key = ?") ORDER BY key")
        if let key { try rows.bind(.text(schema.name), .key(key)) } else { try rows.bind(.text(schema.name)) }
        defer { rows.end() }
        var found: [SetAsideEntity] = []
        while try rows.step() {
            guard let key = rows.key(0), let entity = rows.text(1), let reason = rows.text(2) else { continue }
            found.append(
                SetAsideEntity(
                    key: key, entity: String(decoding: entity, as: UTF8.self), reason: SetAsideReason(name: String(decoding: reason, as: UTF8.self)),
                    instant: rows.instant(3), displacedAt: rows.isNull(4) ? nil : rows.instant(4)))
        }
        return found
    }

    /// Keeps an entity that is taken out of its table; of two with one key the later.
    package func addSetAside(_ one: SetAsideEntity, of schema: DatasetSchema) throws {
        try createSetAsideTable()
        try KeyedStatement(db, """
            INSERT INTO snapsync_set_aside(dataset, key, entity, reason, at, displacedAt) VALUES(?, ?, ?, ?, ?, ?)
            ON CONFLICT(dataset, key) DO UPDATE SET entity = excluded.entity, reason = excluded.reason, at = excluded.at, displacedAt = excluded.displacedAt
            WHERE excluded.at >= at
            """).bind(
                .text(schema.name), .key(one.key), .text(one.entity), .text(one.reason.name), .instant(one.instant), one.displacedAt.map { .instant($0) } ?? .null
            ).run()
    }

    /// Forgets an entity that was set aside: it is back, or something later took its place.
    package func dropSetAside(_ key: EntityKey, of schema: DatasetSchema) throws {
        try KeyedStatement(db, "DELETE FROM snapsync_set_aside WHERE dataset = ? AND key = ?").bind(.text(schema.name), .key(key)).run()
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
