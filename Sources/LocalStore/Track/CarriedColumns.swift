import GRDB
package import LocalTables
package import SnapshotModel
import StrictText

/// Preserves the values of columns that a version does not have, because it was published before its dataset had them.
///
/// An import writes the version's rows, in which these columns are NULL. The rows' own values are copied before and restored after:
///
///     let carried = try CarriedColumns(transaction, of: schema, missing) // before a row changes
///     …                                                                  // the import writes the version's rows
///     try carried?.restore()
///     …                                                                  // the device's edits are put on the version's rows
///     try carried?.track(publishes: true)
///     try carried?.end()
///
/// Memory: none; a temporary table holds the values.
package final class CarriedColumns {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let columns: [String]
    private let missing: [Int]
    private let table: String
    /// For each column the condition that a row `t` has no value there: it is NULL, or it is the default that the import inserted instead.
    private let unset: [String]
    /// The columns that the version does not have; the others have the version's values once the import has written it.
    private let unpublished: Set<Int>

    /// Copies the values; nil if no row has one.
    ///
    /// - Parameter missing: the positions of the columns in the schema.
    package init?(_ transaction: LocalTransaction, of schema: DatasetSchema, _ missing: [Int]) throws {
        columns = missing.map { schema.columns[$0].column.sqlIdentifier }
        self.transaction = transaction
        self.schema = schema
        self.missing = missing
        guard !columns.isEmpty, let id = try transaction.trackingID(schema) else { return nil }
        table = "snapsync_carried_\(id)"
        let defaults = try transaction.tables.requiredDefaults(of: schema), unpublished = Set(transaction.missingColumns[schema.name] ?? [])
        self.unpublished = unpublished
        unset = missing.map { index in
            let name = "t." + schema.columns[index].column.sqlIdentifier
            guard let text = defaults[schema.columns[index].column.folded] else { return "\(name) IS NULL" }
            return "\(name) IS (\(text))" + (unpublished.contains(index) ? "" : " AND \(DefaultedRows.contains(rowsOf: schema, id: id))")
        }
        // In a column of the version, the table's default is no value of this device: the version's NULL counts.
        let declared = try TableColumns(transaction.db, schema.table)
        let values = missing.map { index in
            let name = schema.columns[index].column, text = unpublished.contains(index) ? nil : declared?.column(name)?.defaultText
            return (name: name.sqlIdentifier, none: defaults[name.folded] ?? text ?? "NULL", isPlain: defaults[name.folded] == nil)
        }
        let isSet = values.map { "\($0.name) IS NOT (\($0.none))" }.joined(separator: " OR ")
        let copies = values.map { $0.isPlain ? "CASE WHEN \($0.name) IS NOT (\($0.none)) THEN \($0.name) END AS \($0.name)" : $0.name }
        let own = "main.\(schema.table.sqlIdentifier)"
        guard try Bool.fetchOne(transaction.db, sql: "SELECT EXISTS (SELECT 1 FROM \(own) WHERE \(isSet))") == true else { return nil }
        let key = schema.keySQL
        try transaction.db.execute(
            sql: """
                DROP TABLE IF EXISTS temp.\(table);
                CREATE TEMP TABLE \(table) AS SELECT \(([key.list()] + copies).joined(separator: ", ")) FROM \(own) WHERE \(isSet);
                CREATE UNIQUE INDEX temp.\(table)_key ON \(table)(\(key.indexed));
                """)
    }

    /// Writes the values back into the rows that the version also has.
    package func restore() throws {
        let own = "main.\(schema.table.sqlIdentifier)", key = schema.keySQL
        let list = columns.joined(separator: ", "), isUnset = unset.joined(separator: " AND ")
        // If a later change asset of the version has the columns after all, its values count. A row that the import did not write has its own.
        let same = zip(missing, columns).filter { unpublished.contains($0.0) }.map { "t.\($0.1) IS k.\($0.1)" }
        let isOwn = same.isEmpty ? "FALSE" : same.joined(separator: " AND ")
        try transaction.db.execute(
            sql: """
                DELETE FROM temp.\(table) AS k
                WHERE NOT EXISTS (SELECT 1 FROM \(own) t WHERE \(key.isSame("t", "k")) AND (\(isUnset) OR \(isOwn)));
                UPDATE \(own) AS t SET (\(list)) = (SELECT \(list) FROM temp.\(table) k WHERE \(key.isSame("k", "t")))
                WHERE \(key.isIn("t", table: "temp.\(table)"));
                """)
    }

    /// Records that the rows whose values were restored changed here, just after the version: any edit of another device is later. A column's default
    /// does not count as a value.
    package func track(publishes: Bool) throws {
        let isRestored = schema.keySQL.isIn("t", table: "temp.\(table)"),
            isSet = try Self.isSet(missing.map { schema.columns[$0] }, of: schema, in: transaction)
        try Self.track(missing, ofRows: "\(isRestored) AND (\(isSet))", of: schema, in: transaction, order: .after, as: Self.cause(publishes: publishes))
    }

    /// Drops the temporary table.
    package func end() throws { try transaction.db.execute(sql: "DROP TABLE temp.\(table)") }

    /// A publisher's next version has the values anyway. A reader's are its edits: it sends them, or keeps them.
    static func cause(publishes: Bool) -> ChangeCause { publishes ? .carried : .edit }

    /// The order of the change's instant and the row's instant in the applied version.
    enum Order { case before, after }

    /// Tracks the rows that have values in columns that were just added to the description. A column's default does not count as a value.
    static func track(
        _ columns: [DatasetColumn], of schema: DatasetSchema, in transaction: LocalTransaction, order: Order, as cause: ChangeCause = .carried
    ) throws {
        guard !columns.isEmpty else { return }
        let isSet = try isSet(columns, of: schema, in: transaction)
        let positions = schema.columns.indices.filter { index in columns.contains { $0.name.exact == schema.columns[index].name.exact } }
        try track(positions, ofRows: "(\(isSet)) AND \(schema.keySQL.isNotNull("t"))", of: schema, in: transaction, order: order, as: cause)
    }

    /// The condition that a row `t` has another value than the default in one of the columns.
    private static func isSet(_ columns: [DatasetColumn], of schema: DatasetSchema, in transaction: LocalTransaction) throws -> String {
        let table = try TableColumns(transaction.db, schema.table)
        return columns.map { "t.\($0.column.sqlIdentifier) IS NOT (\(table?.column($0.column)?.defaultText ?? "NULL"))" }.joined(separator: " OR ")
    }

    /// Tracks columns of the rows `t` of a dataset's table that satisfy a condition. An edit on top of such a change makes it an ordinary one.
    static func track(
        _ columns: [Int], ofRows condition: String, of schema: DatasetSchema, in transaction: LocalTransaction, order: Order,
        as cause: ChangeCause = .carried
    ) throws {
        guard let id = try transaction.trackingID(schema) else { return }
        let key = schema.keySQL.value(of: "t"), stamp = schema.ownInstantSQL
        let instant =
            switch order {
            case .before: "CASE WHEN base > \(Instant.earliest.microseconds) THEN base - 1 ELSE \(Int64.min) END"
            case .after: "(max(base, \(Instant.earliest.microseconds)) + 1)"
            }
        let changed = columns.map { "'\($0)@' || \(instant)" }.joined(separator: " || ' ' || ")
        // A reader's values come after what it has changed in the row, and may have sent.
        let after = cause == .edit && order == .after ? "SELECT max(c.at) FROM main.snapsync_changes c WHERE c.dataset = \(id) AND c.key = \(key)" : "NULL"
        try transaction.db.execute(
            sql: """
                INSERT INTO main.snapsync_changes(dataset, key, at, seq, state, isNew, base, cause, changed)
                SELECT \(id), key, \(instant), 0, CASE WHEN own IS \(instant) OR \(instant) = \(Int64.min) THEN 0 ELSE 1 END, \(TrackedOrigin.inVersion), base, \(cause), \(changed) FROM (
                    SELECT \(key) AS key, \(stamp) AS own,
                        max(coalesce((SELECT at FROM main.snapsync_instants i WHERE i.dataset = \(id) AND i.key = \(key)), \(stamp), \(Int64.min)),
                            coalesce((\(after)), \(Int64.min))) AS base
                    FROM main.\(schema.table.sqlIdentifier) t WHERE \(condition)) WHERE 1
                ON CONFLICT(dataset, key) DO UPDATE SET changed = excluded.changed || ' ' || changed, at = max(at, excluded.at), cause = min(cause, excluded.cause);
                """)
    }
}

/// The entities that an import inserted with this table's default where the version has NULL: the table declares a column NOT NULL that the table
/// of the device that published does not.
///
/// A temporary table holds their keys during the import.
package struct DefaultedRows: TransactionPart {
    package let transaction: LocalTransaction

    /// Starts to note keys in this transaction, if the dataset's table has such columns.
    package func begin(of schema: DatasetSchema) throws {
        guard try !transaction.tables.requiredDefaults(of: schema).isEmpty else { return }
        try db.execute(
            sql:
                "DROP TABLE IF EXISTS temp.snapsync_defaulted; CREATE TEMP TABLE snapsync_defaulted(dataset INTEGER, key, PRIMARY KEY(dataset, key)) WITHOUT ROWID"
        )
        transaction.notesDefaults = true
    }

    /// Notes a key, between ``begin(of:)`` and ``end(of:)``.
    func add(_ key: EntityKey, of schema: DatasetSchema) throws {
        guard transaction.notesDefaults, let id = try trackingID(schema) else { return }
        try KeyedStatement(db, "INSERT OR IGNORE INTO temp.snapsync_defaulted VALUES(?, ?)").bind(.integer(id), .key(key)).run()
    }

    /// The condition that the key of a row `t` of a dataset was noted.
    ///
    /// - Parameter id: the dataset's tracking number.
    static func contains(rowsOf schema: DatasetSchema, id: Int64) -> String {
        "EXISTS (SELECT 1 FROM temp.snapsync_defaulted d WHERE d.dataset = \(id) AND d.key = \(schema.keySQL.value(of: "t")))"
    }

    /// Ends the noting. The rows count as changed here, so that a publisher's next version has what they hold.
    package func end(of schema: DatasetSchema) throws {
        guard transaction.notesDefaults else { return }
        transaction.notesDefaults = false
        if let id = try trackingID(schema) {
            let defaults = try transaction.tables.requiredDefaults(of: schema)
            let columns = schema.columns.indices.filter { defaults[schema.columns[$0].column.folded] != nil }
            try CarriedColumns.track(
                columns, ofRows: Self.contains(rowsOf: schema, id: id), of: schema, in: transaction, order: .after, as: .defaulted)
        }
        try db.execute(sql: "DROP TABLE temp.snapsync_defaulted")
    }
}
