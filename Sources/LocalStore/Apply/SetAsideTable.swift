import GRDB
package import SnapshotModel
import StrictText

/// The entities that were removed from their tables and stored: the table `snapsync_set_aside`.
package struct SetAsideTable: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.setAside.name

    /// Whether an entity of any dataset is set aside that can return automatically.
    package func hasReturnable() throws -> Bool {
        guard try db.hasTable(Self.table) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_set_aside WHERE reason <> 'tooOld')").bind().integer() == 1
    }

    /// The entities of a dataset that are set aside, in key order.
    package func entities(of schema: DatasetSchema) throws -> [SetAsideEntity] { try entities(of: schema, nil) }

    /// The entity with a key that is set aside; nil if there is none.
    package func entity(_ key: EntityKey, of schema: DatasetSchema) throws -> SetAsideEntity? { try entities(of: schema, key).first }

    /// Whether the entity with a key is set aside and will return automatically when possible.
    func isReturnable(_ key: EntityKey, of schema: DatasetSchema) throws -> Bool {
        try entity(key, of: schema).map { $0.reason != .tooOld } ?? false
    }

    private func entities(of schema: DatasetSchema, _ key: EntityKey?) throws -> [SetAsideEntity] {
        guard try db.hasTable(Self.table) else { return [] }
        let rows = try KeyedStatement(
            db, "SELECT key, entity, reason, at, displacedAt FROM snapsync_set_aside WHERE dataset = ? \(key == nil ? "" : "AND key = ?") ORDER BY key")
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

    /// Stores an entity that is removed from its table. If one with the same key is stored already, the later one stays.
    package func add(_ one: SetAsideEntity, of schema: DatasetSchema) throws {
        try LocalTable.setAside.create(in: db)
        try KeyedStatement(
            db,
            """
            INSERT INTO snapsync_set_aside(dataset, key, entity, reason, at, displacedAt) VALUES(?, ?, ?, ?, ?, ?)
            ON CONFLICT(dataset, key) DO UPDATE SET entity = excluded.entity, reason = excluded.reason, at = excluded.at, displacedAt = excluded.displacedAt
            WHERE excluded.at >= at
            """
        ).bind(
            .text(schema.name), .key(one.key), .text(one.entity), .text(one.reason.name), .instant(one.instant), one.displacedAt.map { .instant($0) } ?? .null
        ).run()
    }

    /// Deletes an entity that was set aside, because it returned or a later change replaced it.
    package func remove(_ key: EntityKey, of schema: DatasetSchema) throws {
        try KeyedStatement(db, "DELETE FROM snapsync_set_aside WHERE dataset = ? AND key = ?").bind(.text(schema.name), .key(key)).run()
    }
}
