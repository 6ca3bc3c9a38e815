import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

/// A row of this device that no version has and that is in no table: a UNIQUE value of it is taken, or its parent is missing.
package struct WaitingRow: Sendable, Hashable {
    package let key: EntityKey
    /// The row as JSON without shapes.
    package let entity: String
    /// When it was changed last, and when it was inserted.
    package let at: Instant
    package let born: Instant
    /// When the columns were changed that were not changed last.
    package let columns: [ExactText: Instant]
    /// When the row was deleted that this device has brought back; nil for a row that it has inserted.
    package let gone: Instant?

    package init(key: EntityKey, entity: String, at: Instant, born: Instant, columns: [ExactText: Instant], gone: Instant?) {
        self.key = key
        self.entity = entity
        self.at = at
        self.born = born
        self.columns = columns
        self.gone = gone
    }

    /// When each column was changed.
    package func instants(of schema: DatasetSchema) -> [Instant] { schema.columns.map { columns[$0.name.exact] ?? at } }
}

/// The rows of this device that are held and that no version has yet: the table `snapsync_waiting`.
package struct WaitingRows: TransactionPart {
    let transaction: LocalTransaction

    /// Whether a row of any dataset waits.
    package func hasAny() throws -> Bool {
        guard try db.hasTable(LocalTable.waiting.name) else { return false }
        return try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM snapsync_waiting)").bind().integer() == 1
    }

    /// The rows of a dataset in key order.
    package func rows(of schema: DatasetSchema) throws -> [WaitingRow] { try rows(of: schema, nil) }

    /// The row with a key; nil if there is none.
    package func row(_ key: EntityKey, of schema: DatasetSchema) throws -> WaitingRow? { try rows(of: schema, key).first }

    private func rows(of schema: DatasetSchema, _ key: EntityKey?) throws -> [WaitingRow] {
        guard try db.hasTable(LocalTable.waiting.name) else { return [] }
        let sql = "SELECT key, entity, at, born, columns, gone FROM snapsync_waiting WHERE dataset = ?1\(key == nil ? "" : " AND key = ?2") ORDER BY key"
        let found = try KeyedStatement(db, sql).bind([.text(schema.name)] + (key.map { [.key($0)] } ?? []))
        defer { found.end() }
        var rows: [WaitingRow] = []
        while try found.step() {
            guard let key = found.key(0), let entity = found.string(1) else { throw damaged(LocalTable.waiting.name, "a row of \(schema.name) cannot be read") }
            let columns = found.text(4).flatMap { ColumnInstants($0) }?.known ?? [:]
            let gone = found.isNull(5) ? nil : found.instant(5)
            rows.append(WaitingRow(key: key, entity: entity, at: found.instant(2), born: found.instant(3), columns: columns, gone: gone))
        }
        return rows
    }

    /// The rows of a dataset and, after them, the version's held rows that have values of columns that are not synced, as JSON; and these values.
    package func withOwnColumns(of schema: DatasetSchema) throws -> (rows: [(key: EntityKey, text: String)], own: [EntityKey: [String: OwnedValue]]) {
        var found = try rows(of: schema).map { (key: $0.key, text: $0.entity) }, own: [EntityKey: [String: OwnedValue]] = [:]
        guard let id = try trackingID(schema), try db.hasTable(LocalTable.own.name) else { return (found, [:]) }
        let values = try KeyedStatement(db, "SELECT key, name, value FROM snapsync_own WHERE dataset = ? AND value IS NOT NULL").bind(.integer(id))
        while try values.step() { if let key = values.key(0), let name = values.string(1) { own[key, default: [:]][name] = values.value(2) } }
        let waiting = Set(found.map(\.key))
        try transaction.held.forEach(of: schema) { key, entity, reason in
            if reason == HeldRows.published, own[key] != nil, !waiting.contains(key) { found.append((key, entity)) }
        }
        return (found, own)
    }

    /// Stores a row, in place of an earlier one with the same key.
    package func put(_ row: WaitingRow, of schema: DatasetSchema) throws {
        try LocalTable.waiting.create(in: db)
        try KeyedStatement(db, "INSERT OR REPLACE INTO snapsync_waiting(dataset, key, entity, at, born, columns, gone) VALUES(?, ?, ?, ?, ?, ?, ?)")
            .bind(
                .text(schema.name), .key(row.key), .text(row.entity), .instant(row.at), .instant(row.born),
                row.columns.isEmpty ? .null : .text(ColumnInstants(row.columns).text), row.gone.map { .instant($0) } ?? .null
            ).run()
    }

    /// Lets the next version hold the rows of a dataset.
    package func stage(_ schema: DatasetSchema) throws {
        guard let id = try trackingID(schema) else { return }
        for row in try rows(of: schema) {
            // A version says one thing of a key.
            try KeyedStatement(db, "DELETE FROM snapsync_tombstones WHERE dataset = ? AND key = ?").bind(.integer(id), .key(row.key)).run()
            try transaction.held.put(row.key, entity: row.entity, reason: HeldRows.waiting, in: schema)
            let instants = RowInstants(row: row.at, born: row.born == row.at ? nil : row.born, columns: row.columns)
            try transaction.tombstonesAndInstants.set(instants, of: row.key, own: .distantPast, in: schema)
        }
    }

    /// Records that the published version holds the rows that were staged.
    package func acknowledge(_ schema: DatasetSchema) throws {
        guard let id = try trackingID(schema), try transaction.held.hasWaiting(of: schema) else { return }
        let staged = "FROM snapsync_held WHERE dataset = \(id) AND reason = \(HeldRows.waiting.sqlText)"
        try db.execute(sql: "DELETE FROM snapsync_waiting WHERE dataset = ? AND key IN (SELECT key \(staged))", arguments: [schema.name])
        try db.execute(sql: "DELETE FROM snapsync_tombstones WHERE dataset = ? AND key IN (SELECT key \(staged))", arguments: [id])
        try db.execute(sql: "UPDATE snapsync_held SET reason = ? WHERE dataset = ? AND reason = ?", arguments: [HeldRows.published, id, HeldRows.waiting])
    }

    /// Removes the rows in whose places the application has inserted others, and returns them. The log must have been consolidated.
    package func takeOverwritten(of datasets: [DatasetSchema]) throws -> [(place: RowPlace, row: WaitingRow)] {
        var taken: [(place: RowPlace, row: WaitingRow)] = []
        for (index, schema) in datasets.enumerated() {
            for row in try rows(of: schema) where try transaction.changeLog.change(of: row.key, in: schema)?.isDeletion == false {
                try remove(row.key, of: schema)
                taken.append((RowPlace(index, row.key), row))
            }
        }
        return taken
    }

    /// Makes the rows that the applied version holds rows of this device alone: the zone no longer has their dataset.
    package func adopt(heldOf schema: DatasetSchema, _ codec: EntityCodec) throws {
        let version = TableVersion(transaction, of: [schema], codec, own: nil, hasChanges: true)
        for (place, row) in try version.heldRows() {
            try version.hold(row, restoring: nil, at: place)
            try transaction.held.remove(place.key, of: schema)
        }
    }

    /// Deletes the rows of a dataset, also from the next version.
    package func remove(of schema: DatasetSchema) throws {
        for row in try rows(of: schema) {
            try remove(row.key, of: schema)
            if try transaction.held.entity(row.key, of: schema) == nil { try transaction.held.remove(row.key, of: schema) }
        }
    }

    /// Deletes a row: it is in its table now, or a version has it.
    package func remove(_ key: EntityKey, of schema: DatasetSchema) throws {
        guard try db.hasTable(LocalTable.waiting.name) else { return }
        try KeyedStatement(db, "DELETE FROM snapsync_waiting WHERE dataset = ? AND key = ?").bind(.text(schema.name), .key(key)).run()
    }
}

/// How entities are written into the toolkit's tables.
package struct EntityCodec: Sendable {
    package let text: @Sendable (DatasetSchema, [OwnedValue]) throws -> String
    package let values: @Sendable (DatasetSchema, String) throws -> [OwnedValue]

    package init(
        text: @escaping @Sendable (DatasetSchema, [OwnedValue]) throws -> String, values: @escaping @Sendable (DatasetSchema, String) throws -> [OwnedValue]
    ) {
        self.text = text
        self.values = values
    }
}
