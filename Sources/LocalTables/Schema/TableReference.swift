package import GRDB
package import SnapshotModel
import StrictText

/// A foreign key as the database declares it.
package struct TableReference {
    package let number: Int
    package let child: String
    package let parent: String
    /// Pairs of the child's column and the parent's.
    package let columns: [(child: String, parent: String)]
    /// `CASCADE`, `SET NULL`, `SET DEFAULT`, `RESTRICT` or `NO ACTION`.
    package let onDelete: String
    /// The action when the parent's key changes; same values as ``onDelete``.
    package let onUpdate: String

    package static func all(_ db: Database) throws -> [TableReference] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, f.id, f."table", f."from", f."to", f.on_delete, f.seq, f.on_update
                FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq
                """)
        var found: [TableReference] = []
        var columns: [(String, String)] = []
        for (index, row) in rows.enumerated() {
            let child: String = row[0], parent: String = row[2]
            let to: String = try (row[4] as String?) ?? primaryKey(of: parent, at: row[6], db)
            columns.append((row[3], to))
            let isLast = index + 1 == rows.count || (rows[index + 1][0] as String).exact != child.exact || rows[index + 1][1] as Int != row[1]
            if isLast {
                found.append(TableReference(number: found.count, child: child, parent: parent, columns: columns, onDelete: row[5], onUpdate: row[7]))
                columns = []
            }
        }
        return found
    }

    private static func primaryKey(of table: String, at position: Int, _ db: Database) throws -> String {
        let names = try TableColumns(db, table)?.primaryKey.map(\.name) ?? []
        // A foreign key without matching columns in its parent is SQLite's "foreign key mismatch". `rowid` keeps the SQL valid.
        return position < names.count ? names[position] : "rowid"
    }

    /// The condition that row `c` of the child table refers to a parent.
    var isSet: String { columns.map { "c.\($0.child.sqlIdentifier) IS NOT NULL" }.joined(separator: " AND ") }

    /// The condition that row `c` of the child table refers to row `p` of the parent table. The parent's collation counts: of two columns, SQLite
    /// takes the left one's.
    package var isMatch: String { columns.map { "p.\($0.parent.sqlIdentifier) = c.\($0.child.sqlIdentifier)" }.joined(separator: " AND ") }

    /// The condition that row `c` of the child table refers to a parent that does not exist.
    package var isDangling: String { "\(isSet) AND NOT EXISTS (SELECT 1 FROM \(parent.sqlIdentifier) p WHERE \(isMatch))" }

    /// The key of the parent to which row `c` of the child table refers; nil if it refers to other columns than the parent's key.
    package func parentKey(in parent: DatasetSchema) -> String? {
        let pairs = parent.keyColumns.compactMap { part in columns.first { $0.parent.folded == part.column.folded } }
        guard pairs.count == parent.keyColumns.count, pairs.count == columns.count else { return nil }
        return parent.keySQL.value(of: pairs.map { "c.\($0.child.sqlIdentifier)" })
    }

    /// The values by which row `c` of the child table refers to its parent, as one text.
    package var target: String {
        columns.map { "quote(c.\($0.child.sqlIdentifier))" }.joined(separator: " || ',' || ")
    }
}

/// The foreign keys of all tables, and queries for the rows that refer to existing or missing parents.
package struct ForeignKeyLookup: TransactionPart {
    package let transaction: LocalTransaction

    /// The foreign keys of all tables, read once in a transaction.
    package func foreignKeys() throws -> [TableReference] {
        if let known = transaction.knownForeignKeys { return known }
        let found = try TableReference.all(db)
        transaction.knownForeignKeys = found
        return found
    }

    /// Whether a row refers to an entity of a dataset that does not exist.
    package func isDangling(_ key: EntityKey, of schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> Bool {
        let parents = Set(schemas.map { $0.table.folded })
        return try isDangling(
            key, of: schema, foreignKeys().filter { $0.child.folded == schema.table.folded && parents.contains($0.parent.folded) })
    }

    package func isDangling(_ key: EntityKey, of schema: DatasetSchema, _ links: [TableReference]) throws -> Bool {
        try links.contains { link in
            try KeyedStatement(db, "SELECT 1 FROM \(schema.table.sqlIdentifier) c WHERE \(schema.keySQL.matches("c", "?1")) AND \(link.isDangling)").bind(
                .key(key)
            ).integer() != nil
        }
    }

    /// The first table of a dataset whose rows refer to an entity; nil if there is none.
    package func tableReferring(at key: EntityKey, of schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> String? {
        let tables = Set(schemas.map { $0.table.folded })
        for foreign in try TableReference.all(db)
        where foreign.parent.folded == schema.table.folded && tables.contains(foreign.child.folded) {
            let isPointedAt =
                try KeyedStatement(
                    db,
                    """
                    SELECT EXISTS (SELECT 1 FROM \(schema.table.sqlIdentifier) p JOIN \(foreign.child.sqlIdentifier) c ON \(foreign.isMatch)
                    WHERE \(schema.keySQL.matches("p", "?1")))
                    """
                ).bind(.key(key)).integer() == 1
            if isPointedAt { return foreign.child }
        }
        return nil
    }

    /// Finds rows of the synced tables that refer to missing rows. Reads every row of a table with foreign keys.
    ///
    /// - Parameter limit: at most this many rows of each foreign key are returned.
    package func danglingRows(of schemas: [DatasetSchema], limit: Int) throws -> [DanglingRows] {
        var found: [DanglingRows] = []
        for link in try foreignKeys() {
            guard let schema = schemas.first(where: { $0.table.folded == link.child.folded }) else { continue }
            // SQLite treats a missing parent table as an empty one.
            let condition = try db.hasTable(link.parent) ? link.isDangling : link.isSet
            let rows = try KeyedStatement(
                db, "SELECT \(schema.keySQL.value(of: "c")), \(link.target) FROM main.\(link.child.sqlIdentifier) c WHERE \(condition)"
            ).bind()
            var count = 0
            var named: [DanglingRows.Row] = []
            while try rows.step() {
                count += 1
                let key = rows.key(0)
                let parentKey = rows.text(1).map { String(decoding: $0, as: UTF8.self) } ?? ""
                if named.count < limit { named.append(DanglingRows.Row(key: key, parentKey: parentKey)) }
            }
            if count > 0 { found.append(DanglingRows(table: link.child, parentTable: link.parent, count: count, rows: named)) }
        }
        return found
    }
}

/// The rows of a synced table that refer to missing rows by one foreign key.
package struct DanglingRows: Sendable {
    /// One such row.
    package struct Row: Sendable {
        /// The row's key; nil for a row without one.
        package let key: EntityKey?
        /// The values by which the row refers to its parent, as SQL literals separated by commas.
        package let parentKey: String
    }

    package let table: String
    package let parentTable: String
    package let count: Int
    /// The first rows in SQLite's order, at most as many as requested.
    package let rows: [Row]
}
