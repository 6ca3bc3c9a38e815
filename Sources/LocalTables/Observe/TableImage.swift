package import GRDB
package import SnapshotModel
import StrictText

/// The rows of one table before and after an import, of those rows that the import touched.
///
/// They are stored in two temporary tables. Temporary triggers copy the rows before; they run while the application's triggers are off. The cost
/// is a row on disk for each touched row. Rows that are unchanged at the end are removed from the image.
package struct TableImage {
    package let schema: DatasetSchema
    let columns: [String]
    /// The unique columns by position in `columns`, each with whether it may be NULL.
    let unique: [Int: Bool]
    let before: String
    let after: String
    private let db: Database
    private let table: String
    private let key: KeySQL
    /// Whether the key is a rowid that is not a column.
    private let hasHiddenKey: Bool
    /// The name of the rowid, for tables whose rowid is not a column; a row that stays keeps its rowid.
    private let rowid: String?
    /// The most rows that are copied; nil for no limit.
    private let limit: Int?

    /// Creates the temporary tables and starts copying rows.
    ///
    /// - Parameters:
    ///   - name: distinguishes the temporary tables from those of other images.
    ///   - comparesRowids: whether a row that is inserted again with another rowid counts as changed.
    ///   - limit: the most rows that are copied. Nothing is known about rows that are touched after that (``isFull()``).
    package init(_ db: Database, _ schema: DatasetSchema, name: String, comparesRowids: Bool = true, limit: Int? = nil) throws {
        self.limit = limit
        self.db = db
        self.schema = schema
        table = "main." + schema.table.sqlIdentifier
        key = schema.keySQL
        hasHiddenKey = try TableInspector.hiddenKey(of: schema, db) != nil
        before = "snapsync_before_\(name)"
        after = "snapsync_after_\(name)"
        let own = try TableColumns(db, schema.table), info = own?.plain ?? []
        columns = info.map(\.name)
        rowid = !comparesRowids || own?.rowidAlias != nil ? nil : own?.rowidName
        let parts = Set(try (UniqueKey.others(db, schema) ?? []).flatMap(\.valueColumns).map(\.folded))
        var unique: [Int: Bool] = [:]
        for (index, column) in info.enumerated() where parts.contains(column.name.folded) || column.keyPlace > 0 {
            unique[index] = !column.isNotNull && column.keyPlace == 0
        }
        // A row keeps its key. Key columns can differ only in spelling.
        let keyNames = Set(schema.keyColumns.map(\.column.folded))
        let names = columns
        self.unique = unique.filter { !keyNames.contains(names[$0.key].folded) }
        try open()
    }

    private func list(_ prefix: String = "") -> String { columns.indices.map { "\(prefix)c\($0)" }.joined(separator: ", ") }
    private func names(_ prefix: String = "") -> String { columns.map { "\(prefix)\($0.sqlIdentifier)" }.joined(separator: ", ") }

    private func open() throws {
        try db.execute(
            sql: """
                CREATE TEMP TABLE \(before)(k UNIQUE, had INTEGER NOT NULL, rid, \(list()));
                CREATE TEMP TABLE \(after)(k UNIQUE, rid, \(list()));
                """)
        // SQLite finds the largest rowid without a scan.
        let room = limit.map { "coalesce((SELECT max(rowid) FROM temp.\(before)), 0) < \($0) AND " } ?? ""
        let old = "\(key.value(of: "OLD")), 1, \(rowid.map { "OLD.\($0)" } ?? "NULL"), \(names("OLD."))"
        for event in ["DELETE", "UPDATE"] {
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER \(before)_\(event) BEFORE \(event) ON \(table)
                    WHEN \(room)\(key.isNotNull("OLD")) AND NOT EXISTS (SELECT 1 FROM temp.\(before) WHERE k = \(key.value(of: "OLD"))) BEGIN INSERT INTO \(before) VALUES(\(old)); END
                    """)
        }
        try db.execute(
            sql: """
                CREATE TEMP TRIGGER \(before)_INSERT AFTER INSERT ON \(table)
                WHEN \(room)\(key.isNotNull("NEW")) AND NOT EXISTS (SELECT 1 FROM temp.\(before) WHERE k = \(key.value(of: "NEW"))) BEGIN INSERT INTO \(before)(k, had) VALUES(\(key.value(of: "NEW")), 0); END
                """)
    }

    /// Whether the limit was reached, so that more rows may have been touched than were copied.
    func isFull() throws -> Bool {
        guard let limit else { return false }
        return try Int.fetchOne(db, sql: "SELECT coalesce(max(rowid), 0) FROM temp.\(before)") ?? 0 >= limit
    }

    /// Stops copying rows and reads the present ones. Afterwards the image contains only the rows that differ.
    package func close() throws {
        for event in ["DELETE", "UPDATE", "INSERT"] { try db.execute(sql: "DROP TRIGGER temp.\(before)_\(event)") }
        try db.execute(
            sql: """
                INSERT INTO temp.\(after) SELECT \(key.value(of: "t")), \(rowid.map { "t.\($0)" } ?? "NULL"), \(names("t.")) FROM temp.\(before) b CROSS JOIN \(table) t ON \(key.matches("t", "b.k"));
                DELETE FROM temp.\(before) AS b WHERE had = 0 AND NOT EXISTS (SELECT 1 FROM temp.\(after) a WHERE a.k = b.k)
                    OR had = 1 AND EXISTS (SELECT 1 FROM temp.\(after) a WHERE a.k = b.k AND a.rid IS b.rid AND \(same("a.", "b.")));
                DELETE FROM temp.\(after) AS a WHERE NOT EXISTS (SELECT 1 FROM temp.\(before) b WHERE b.k = a.k);
                """)
    }

    /// Restores the rows as they were before. The application's triggers must be off.
    package func restore() throws {
        try db.execute(
            sql: """
                DELETE FROM \(table) WHERE \(key.isIn(keys: "k", of: "temp.\(before)"));
                INSERT INTO \(table)(\(rowid.map { "\($0), " } ?? "")\(names())) SELECT \(rowid == nil ? "" : "rid, ")\(list()) FROM temp.\(before) WHERE had = 1;
                """)
    }

    /// Whether the rows are as the import left them.
    package func isAsImported() throws -> Bool {
        let rows = columns.map { "t.\($0.sqlIdentifier)" }
        let same = vector(columns.indices.map { "a.c\($0)" }) + " IS " + vector(rows)
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT NOT EXISTS (SELECT 1 FROM temp.\(after) a LEFT JOIN \(table) t ON \(key.matches("t", "a.k")) WHERE \(key.isNull("t")) OR NOT (\(same)))
                    AND NOT EXISTS (SELECT 1 FROM temp.\(before) b CROSS JOIN \(table) t ON \(key.matches("t", "b.k")) WHERE NOT EXISTS (SELECT 1 FROM temp.\(after) a WHERE a.k = b.k))
                """) ?? false
    }

    package func drop() throws { try db.execute(sql: "DROP TABLE temp.\(before); DROP TABLE temp.\(after)") }

    /// The condition that two rows have the same values, storage classes and signs of zero.
    private func same(_ one: String, _ other: String) -> String {
        vector(columns.indices.map { "\(one)c\($0)" }) + " IS " + vector(columns.indices.map { "\(other)c\($0)" })
    }

    private func vector(_ values: [String]) -> String { "(" + values.map { "\($0), \(Self.storage($0))" }.joined(separator: ", ") + ")" }

    private static func storage(_ value: String) -> String {
        "CASE WHEN typeof(\(value)) = 'real' AND \(value) = 0.0 THEN quote(\(value)) ELSE typeof(\(value)) END"
    }

    private func differs(_ index: Int) -> String { "(b.c\(index) IS NOT a.c\(index) OR \(Self.storage("b.c\(index)")) <> \(Self.storage("a.c\(index)")))" }
}

// The changes, row by row, as an application would make them.
extension TableImage {
    /// One row's change.
    package struct Change: Hashable {
        package enum Kind: Hashable {
            case delete
            case insert
            /// These columns change, by position.
            case update([Int])
        }
        package let kind: Kind
        /// The row's number in the temporary table: ``before`` for a deletion, else ``after``.
        package let row: Int64
    }

    /// Calls `body` with every row that was deleted.
    package func forEachDeletion(_ body: (Change) throws -> Void) throws {
        var last: Int64 = 0
        while true {
            let rows = try Int64.fetchAll(
                db.keptStatement(
                    sql:
                        "SELECT rowid FROM temp.\(before) b WHERE rowid > ? AND had = 1 AND NOT EXISTS (SELECT 1 FROM temp.\(after) a WHERE a.k = b.k) ORDER BY rowid LIMIT 512"
                ),
                arguments: [last])
            for row in rows { try body(Change(kind: .delete, row: row)) }
            guard let end = rows.last else { return }
            last = end
        }
    }

    /// Calls `body` with every row that was inserted or changed, in the order in which the import wrote them.
    package func forEachArrival(_ body: (Change) throws -> Void) throws {
        let differences = columns.indices.map(differs).joined(separator: ", ")
        var last: Int64 = 0
        while true {
            let rows = try Row.fetchAll(
                db.keptStatement(
                    sql:
                        "SELECT a.rowid, b.had, \(differences) FROM temp.\(after) a CROSS JOIN temp.\(before) b ON b.k = a.k WHERE a.rowid > ? ORDER BY a.rowid LIMIT 512"
                ),
                arguments: [last])
            for row in rows {
                let changed = columns.indices.filter { row[$0 + 2] as Bool }
                if row[1] as Bool {
                    // If only the rowid of a row would differ, the row has its old rowid back by now.
                    if !changed.isEmpty { try body(Change(kind: .update(changed), row: row[0])) }
                } else {
                    try body(Change(kind: .insert, row: row[0]))
                }
            }
            guard let end = rows.last else { return }
            last = end[0]
        }
    }

    /// The statement for a kind of change, with the row's number as its parameter.
    package func sql(_ kind: Change.Kind) -> String {
        switch kind {
        case .delete: "DELETE FROM \(table) WHERE \(key.matches(nil, "(SELECT k FROM temp.\(before) WHERE rowid = ?1)"))"
        case .insert:
            "INSERT INTO \(table)(\(hasHiddenKey ? "\(rowid ?? "rowid"), " : "")\(names())) SELECT \(hasHiddenKey ? "rid, " : "")\(list()) FROM temp.\(after) WHERE rowid = ?1"
        case .update(let changed):
            """
            UPDATE \(table) SET (\(changed.map { columns[$0].sqlIdentifier }.joined(separator: ", "))) = (SELECT \(changed.map { "c\($0)" }.joined(separator: ", ")) \
            FROM temp.\(after) WHERE rowid = ?1) WHERE \(key.matches(nil, "(SELECT k FROM temp.\(after) WHERE rowid = ?1)"))
            """
        }
    }

    /// The statement that gives the unique columns among the changed ones values that no row has or will have; nil if none of them is unique.
    package func stepAside(_ changed: [Int]) -> String? {
        let columns = changed.filter { unique[$0] != nil }
        guard !columns.isEmpty else { return nil }
        let values = columns.map { index in
            let name = self.columns[index].sqlIdentifier
            if unique[index] == true { return "\(name) = NULL" }
            return
                "\(name) = CASE typeof(\(name)) WHEN 'integer' THEN (SELECT max(v) FROM (SELECT max(\(name)) AS v FROM \(table) UNION ALL SELECT max(c\(index)) FROM temp.\(after))) + 1 ELSE \(name) || ' ' || hex(randomblob(8)) END"
        }
        return "UPDATE \(table) SET \(values.joined(separator: ", ")) WHERE \(key.matches(nil, "(SELECT k FROM temp.\(after) WHERE rowid = ?1)"))"
    }

    /// The statements that bring a row into its final state, whatever its present state. The triggers must be off.
    package func forcing(_ kind: Change.Kind) -> [String] {
        switch kind {
        case .delete: [sql(.delete)]
        case .insert, .update: ["DELETE FROM \(table) WHERE \(key.matches(nil, "(SELECT k FROM temp.\(after) WHERE rowid = ?1)"))", sql(.insert)]
        }
    }

    /// Logs every row that differs as changed now by this device: a row that is there before and after as one that replaces its like.
    package func record(id: Int64) throws {
        let positions = schema.columns.map { column in columns.firstIndex { $0.folded == column.column.folded } }
        let stamp = schema.timestampIndex.flatMap { positions[$0] }.map { "b.c\($0)" } ?? "NULL"
        let masks = stride(from: 0, to: positions.count, by: LogSQL.maskSize).map { start in
            let part = positions.indices[start...].prefix(LogSQL.maskSize).compactMap { position in
                positions[position].map { "(\(differs($0))) * \(1 << (position - start))" }
            }
            return part.isEmpty ? "0" : "(\(part.joined(separator: " + ")))"
        }
        try db.execute(
            sql: """
                INSERT INTO snapsync_log(dataset, key, clock, seen, changed)
                SELECT ?, \(schema.keySQL.logged(key: "b.k")), CASE part WHEN 0 THEN 0 ELSE \(LogSQL.clock) END, CASE WHEN part = 0 OR a.k IS NULL THEN \(stamp) END,
                    CASE WHEN part = 0 THEN '' || \(masks.joined(separator: " || ',' || ")) WHEN a.k IS NULL THEN \(LogEntryKind.touched) ELSE \(LogEntryKind.inserted) END
                FROM temp.\(before) b LEFT JOIN temp.\(after) a ON a.k = b.k JOIN (SELECT 0 AS part UNION ALL SELECT 1) WHERE part = 1 OR had = 1 AND a.k IS NOT NULL ORDER BY b.rowid, part
                """, arguments: [id])
    }
}

extension TableImage {
    /// The rows that differ, after ``close()``; nil if more rows were touched than were copied, or if more than `limit` differ.
    func differences(limit: Int) throws -> DatasetChanges? {
        guard try !isFull() else { return nil }
        var inserted: Set<EntityKey> = [], updated: Set<EntityKey> = [], deleted: Set<EntityKey> = []
        let rows = try KeyedStatement(
            db, "SELECT k, had, EXISTS (SELECT 1 FROM temp.\(after) a WHERE a.k = b.k) FROM temp.\(before) b LIMIT \(limit + 1)"
        ).bind()
        defer { rows.end() }
        while try rows.step() {
            guard let key = rows.key(0) else { continue }
            switch (rows.integer(1) != 0, rows.integer(2) != 0) {
            case (false, _): inserted.insert(key)
            case (true, true): updated.insert(key)
            case (true, false): deleted.insert(key)
            }
        }
        let changes = DatasetChanges(dataset: schema.name, table: schema.table, inserted: inserted, updated: updated, deleted: deleted)
        return changes.count > limit ? nil : changes
    }
}
