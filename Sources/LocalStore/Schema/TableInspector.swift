import GRDB
package import SnapshotModel

/// What a dataset's table is like, as far as reading and writing it depend on that.
package struct TableShape: Sendable {
    /// Whether reading ranges of keys side by side is worth it: a text key, whose order is not the order of the rows.
    package let hasRangeableKey: Bool
    /// Columns of the table that the dataset does not describe and that are not computed.
    package let undescribedColumns: [String]
}

/// The datasets' tables as the database declares them.
package struct TableInspector: TransactionPart {
    let transaction: LocalTransaction

    /// Checks that a dataset's table is there and matches its description.
    ///
    /// - Throws: ``LocalStoreError`` with `.schemaMismatch`, naming dataset, table and column.
    package func check(of schema: DatasetSchema) throws -> TableShape {
        let place = "\(path), table \(schema.table)"
        func refuse(_ reason: String, _ hint: String) -> LocalStoreError {
            LocalStoreError(.schemaMismatch, at: place, "dataset \(schema.name): \(reason)", hint: hint)
        }
        let lowercased = schema.table.asciiLowercased
        guard !lowercased.hasPrefix("snapsync_"), !lowercased.hasPrefix("sqlite_") else {
            throw refuse("the table is not an application's own", "name another table in the dataset file")
        }
        guard
            let kind = try String.fetchOne(
                db, sql: "SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", arguments: [schema.table])
        else {
            throw refuse(
                "there is no such table",
                "make it first (snapsync init --create makes the built-in ones and those that the zone describes), or correct the dataset file")
        }
        guard kind == "table" else { throw refuse("it is a view", "name the table behind it in the dataset file") }

        let list = try Row.fetchOne(db.cachedStatement(sql: "SELECT wr, strict FROM pragma_table_list(?) WHERE schema = 'main'"), arguments: [schema.table])
        let withoutRowid: Bool = list?[0] ?? false, isStrict: Bool = list?[1] ?? false
        var columns: [String: (declared: String, hidden: Int)] = [:]
        var names: [String] = []
        for row in try Row.fetchAll(db.cachedStatement(sql: "SELECT name, type, hidden FROM pragma_table_xinfo(?)"), arguments: [schema.table]) {
            let name: String = row[0]
            columns[name.asciiLowercased] = (row[1], row[2])
            if row[2] as Int == 0 { names.append(name) }
        }
        for column in schema.columns {
            guard let found = columns[column.column.asciiLowercased] else {
                throw refuse("it has no column \(column.column)", "correct the dataset file, or add the column")
            }
            guard found.hidden == 0 else {
                throw refuse("the column \(column.column) is computed", "take it out of the dataset file: it follows from the others")
            }
            guard !ColumnAffinity(declared: found.declared, isStrict: isStrict).spoils(column.kind) else {
                throw refuse(
                    "the column \(column.column) is declared \(found.declared), which cannot hold the type \(column.kind.rawValue)",
                    "correct the type in the dataset file, or the column's")
            }
        }
        try checkKey(of: schema, refuse: refuse)

        // With another affinity a text is stored as it is only if it is no number; one connection reads such a table.
        let affinity = ColumnAffinity(declared: columns[schema.key.column.asciiLowercased]?.declared ?? "", isStrict: isStrict)
        let described = Set(schema.columns.map { $0.column.asciiLowercased })
        return TableShape(
            hasRangeableKey: schema.key.kind == .text && (affinity == .text || affinity == .blob) && !withoutRowid,
            undescribedColumns: names.filter { !described.contains($0.asciiLowercased) })
    }

    /// Whether a table of the main database is STRICT.
    func isStrict(_ table: String) throws -> Bool {
        try KeyedStatement(db, "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'").bind(.text(table)).integer() == 1
    }

    /// The key must be unique by itself and ordered by its bytes, or versions would not mean one thing everywhere.
    private func checkKey(of schema: DatasetSchema, refuse: (String, String) -> LocalStoreError) throws {
        let key = schema.key.column
        let isRowid =
            try Bool.fetchOne(
                db,
                sql: """
                    SELECT count(*) = 1 AND max(name = ?2 COLLATE NOCASE AND type = 'INTEGER' COLLATE NOCASE)
                    FROM pragma_table_info(?1) WHERE pk > 0
                    """, arguments: [schema.table, key]) ?? false
        if isRowid { return }
        var collations: [String] = []
        for index in try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 AND partial = 0"), arguments: [schema.table])
        {
            let parts = try Row.fetchAll(db.cachedStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1"), arguments: [index[0] as String])
            if parts.count == 1, (parts[0][0] as String?)?.asciiLowercased == key.asciiLowercased { collations.append(parts[0][1]) }
        }
        guard !collations.isEmpty else {
            throw refuse("the key column \(key) is not unique by itself", "give it a PRIMARY KEY or a UNIQUE index")
        }
        let own = try columnCollation(db, table: schema.table, column: key)
        guard collations.contains(where: { $0.uppercased() == "BINARY" }), own == "BINARY" else {
            let other = own == "BINARY" ? collations[0] : own
            throw refuse(
                "the key column \(key) is not compared by its bytes but by the collation \(other)",
                "declare the column without COLLATE, for keys that differ only in case would be one entity")
        }
    }
}
