import GRDB
package import SnapshotModel
import StrictText

/// The properties of a dataset's table that reading and writing depend on.
package struct TableShape: Sendable {
    /// Whether several connections can read ranges of keys side by side efficiently: the table has an index in key order that is not the order of
    /// the rows.
    package let hasRangeableKey: Bool
    /// A name of the rowid that no column of the table has; nil if there is none, or no rowid.
    package let rowidName: String?
    /// Columns of the table that are neither described by the dataset nor generated.
    package let undescribedColumns: [String]
    /// The undescribed columns without which no row can be inserted: NOT NULL, without a default.
    package let unfillableColumns: [String]
}

/// The datasets' tables as the database declares them.
package struct TableInspector: TransactionPart {
    let transaction: LocalTransaction

    /// Checks that a dataset's table exists and matches its description.
    ///
    /// - Throws: ``LocalStoreError`` with `.schemaMismatch`, naming dataset, table and column.
    package func check(of schema: DatasetSchema) throws -> TableShape {
        let place = "\(path), table \(schema.table)"
        let isSetUp = try transaction.settings.exists()
        let hasFile = try isSetUp && transaction.settings.descriptionSource() == .file
        func refuse(_ reason: String, _ hint: String) -> LocalStoreError {
            LocalStoreError(.schemaMismatch, at: place, "dataset \(schema.name): \(reason)", hint: hint)
        }
        let lowercased = schema.table.folded
        guard !lowercased.hasPrefix("snapsync_"), !lowercased.hasPrefix("sqlite_") else {
            throw refuse("the table is not an application's own", "name another table in the dataset file")
        }
        guard
            let kind = try String.fetchOne(
                db, sql: "SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", arguments: [schema.table])
        else {
            throw refuse(
                "there is no such table",
                "make it first (init with --create makes the built-in ones and those that the zone describes), or "
                    + (!isSetUp
                        ? "name another table in a dataset file (--datasets)"
                        : hasFile ? "correct the dataset file" : "take it out: snapsync describe --update --remove \(schema.name)"))
        }
        guard kind == "table" else {
            throw refuse(
                "it is a view",
                hasFile || !isSetUp
                    ? "name the table behind it in a dataset file (--datasets)"
                    : "make it a table again, or take it out: snapsync describe --update --db \(path.shellWord) --remove \(schema.name)")
        }

        let list = try Row.fetchOne(db.keptStatement(sql: "SELECT wr, strict FROM pragma_table_list(?) WHERE schema = 'main'"), arguments: [schema.table])
        let withoutRowid: Bool = list?[0] ?? false, isStrict: Bool = list?[1] ?? false
        var columns: [ExactText: (declared: String, hidden: Int)] = [:]
        var names: [String] = [], required: Set<ExactText> = []
        let info = "SELECT name, type, hidden, \"notnull\" AND dflt_value IS NULL AND pk = 0 FROM pragma_table_xinfo(?)"
        for row in try Row.fetchAll(db.keptStatement(sql: info), arguments: [schema.table]) {
            let name: String = row[0]
            columns[name.folded] = (row[1], row[2])
            if row[2] as Int == 0 { names.append(name) }
            if row[3] as Bool { required.insert(name.exact) }
        }
        let isHidden = try hiddenKey(of: schema) != nil
        for (index, column) in schema.columns.enumerated() where !(isHidden && schema.keyIndices == [index]) {
            guard let found = columns[column.column.folded] else {
                throw refuse(
                    "it has no column \(column.column)",
                    "\(hasFile ? "correct the dataset file, or " : "")add the column; snapsync describe --update takes over what changed")
            }
            guard found.hidden == 0 else {
                throw refuse("the column \(column.column) is computed", "take it out of the dataset file: it follows from the others")
            }
            guard let shape = column.shape else { continue }
            guard !ColumnAffinity(declared: found.declared, isStrict: isStrict).spoils(shape) else {
                throw refuse(
                    "the column \(column.column) is declared \(found.declared), which cannot hold the type \(shape.rawValue)",
                    "declare the column so that it can hold the type, or leave the type out in the dataset file")
            }
        }
        if !isHidden { try checkKey(of: schema, hasFile: hasFile || !isSetUp, refuse: refuse) }

        // With another affinity, SQLite stores a text unchanged only if it does not look like a number. One connection reads such a table.
        let affinity = ColumnAffinity(declared: columns[schema.keyColumns[0].column.folded]?.declared ?? "", isStrict: isStrict)
        let described = Set(schema.columns.map { $0.column.folded })
        let undescribed = names.filter { !described.contains($0.folded) }
        return TableShape(
            hasRangeableKey: try !withoutRowid && (!schema.keyShape.isSingle || affinity == .text || affinity == .blob) && hasIndexInKeyOrder(schema),
            rowidName: withoutRowid ? nil : RowidName.all.first { columns[$0.exact] == nil }, undescribedColumns: undescribed,
            unfillableColumns: undescribed.filter { required.contains($0.exact) })
    }

    /// Whether a table of the main database is STRICT.
    func isStrict(_ table: String) throws -> Bool {
        try KeyedStatement(db, "SELECT strict FROM pragma_table_list(?) WHERE schema = 'main'").bind(.text(table)).integer() == 1
    }

    /// The key must be unique by itself, and the dataset must compare it as the table does. Otherwise a version would contain different entities
    /// on different devices.
    private func checkKey(of schema: DatasetSchema, hasFile: Bool, refuse: (String, String) -> LocalStoreError) throws {
        // The rowid holds only integers, in any collation.
        if try hasRowidColumn(schema) { return }
        let names = schema.keyColumns.map(\.column)
        let key = names.joined(separator: ", ")
        for column in schema.keyColumns {
            let own = try columnCollation(db, table: schema.table, column: column.column)
            guard column.shape ?? .text == .text, own.folded != column.collation.rawValue.exact else { continue }
            guard let known = KeyCollation(rawValue: own.folded.text) else {
                throw refuse(
                    "the key column \(column.column) is compared by the collation \(own), which is not SQLite's own",
                    "declare the column without COLLATE, or with NOCASE or RTRIM")
            }
            throw refuse(
                "the key column \(column.column) is compared by the collation \(own), and the dataset by \(column.collation.rawValue)",
                !hasFile
                    ? "declare the column as before. \(try otherKey(schema))"
                    : known == .binary
                        ? "leave \"collation\" out in the dataset file, or declare the column with it"
                        : "say \"collation\": \"\(known.rawValue)\" in the dataset file: keys that are equal for the table are one entity")
        }
        let wanted = Set(names.map(\.folded))
        var collations: [[String]] = []
        for index in try uniqueIndexes(of: schema) where Set(index.map { $0.name?.folded }) == Set(wanted.map { Optional($0) }) {
            if index.count == wanted.count { collations.append(index.map { $0.collation }) }
            let isSame =
                try index.count == wanted.count
                && index.allSatisfy { part in
                    try part.collation.folded == columnCollation(db, table: schema.table, column: part.name ?? "").folded
                }
            if isSame { return }
        }
        guard let other = collations.first else {
            let columns = names.count == 1 ? "column \(key) is not unique by itself" : "columns \(key) are not unique together"
            throw refuse(
                "the key \(columns)", "give \(Format.word(names.count, "it", "them")) a PRIMARY KEY or a UNIQUE index. \(try otherKey(schema))")
        }
        throw refuse(
            "the unique index of the key \(key) compares by \(other.joined(separator: ", ")), and the columns by other collations",
            "declare the columns and the index with the same collations")
    }

    /// What to do about a table with another key than before.
    private func otherKey(_ schema: DatasetSchema) throws -> String {
        let file = path.shellWord, isAlone = try transaction.settings.exists() && transaction.settings.read().datasets.count == 1
        guard !isAlone else {
            return "With another key the table is another dataset, and a zone has at least one: run snapsync detach --db \(file), and set it up in another zone"
        }
        let update = "snapsync describe --update --db \(file)"
        let publishes = try !transaction.settings.exists() || transaction.settings.read().role.publishes
        let again = publishes ? "--tables \(schema.table.shellWord)" : "--create"
        return "With another key the table is another dataset: run \(update) --remove \(schema.name), sync, then \(update) \(again)"
    }

    /// The columns and collations of the unique indexes that cover all rows; the name is nil for an expression.
    private func uniqueIndexes(of schema: DatasetSchema) throws -> [[(name: String?, collation: String, isDescending: Bool)]] {
        try Row.fetchAll(
            db.keptStatement(sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 AND partial = 0"), arguments: [schema.table]
        ).map { index in
            try Row.fetchAll(db.keptStatement(sql: UniqueIndex.partsSQL), arguments: [index[0] as String]).map { ($0[0], $0[1], $0[2]) }
        }
    }

    /// Whether a unique index has the key's columns in order, all ascending. Then SQLite reads the keys from the index alone.
    private func hasIndexInKeyOrder(_ schema: DatasetSchema) throws -> Bool {
        let names = schema.keyColumns.map(\.column.folded)
        return try uniqueIndexes(of: schema).contains { index in index.map { $0.name?.folded ?? "" } == names && !index.contains { $0.isDescending } }
    }

    /// Whether the key is a column that is an alias of the rowid: INTEGER PRIMARY KEY.
    private func hasRowidColumn(_ schema: DatasetSchema) throws -> Bool {
        guard schema.keyIndices.count == 1 else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT count(*) = 1 AND max(name = ?2 COLLATE NOCASE AND type = 'INTEGER' COLLATE NOCASE)
                FROM pragma_table_info(?1) WHERE pk > 0
                """, arguments: [schema.table, schema.keyColumns[0].column]) ?? false
    }
}

/// SQLite's names of the rowid, for tables without a column of that name.
enum RowidName {
    static let all = ["rowid", "_rowid_", "oid"]
}

// Tables whose only key is the rowid.
extension TableInspector {
    /// The name of the rowid if the dataset's key is the rowid and not a column of the table; nil for any other key.
    func hiddenKey(of schema: DatasetSchema) throws -> String? { try Self.hiddenKey(of: schema, db) }

    private static func rowidName(of schema: DatasetSchema) -> String? {
        guard schema.keyShape.isSingle, schema.keyColumns[0].shape ?? .integer == .integer else { return nil }
        return RowidName.all.first { $0.exact == schema.keyColumns[0].column.folded }
    }

    static func hiddenKey(of schema: DatasetSchema, _ db: Database) throws -> String? {
        guard let name = rowidName(of: schema) else { return nil }
        let isColumn =
            try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM pragma_table_xinfo(?) WHERE name = ? COLLATE NOCASE)")
            .bind(.text(schema.table), .text(name)).integer() == 1
        let hasRowid = try KeyedStatement(db, "SELECT wr = 0 FROM pragma_table_list(?) WHERE schema = 'main'").bind(.text(schema.table)).integer() == 1
        // If a column is an alias of the rowid, that column is the key.
        let hasAlias =
            try KeyedStatement(
                db, "SELECT count(*) = 1 AND max(type = 'INTEGER' COLLATE NOCASE) FROM pragma_table_info(?) WHERE pk > 0"
            ).bind(.text(schema.table)).integer() == 1
        return !isColumn && hasRowid && !hasAlias ? name : nil
    }

    /// Whether the dataset's key is a rowid without a column. VACUUM may renumber such rows.
    package func hasHiddenKey(_ schema: DatasetSchema) throws -> Bool { try hiddenKey(of: schema) != nil }
}

extension TableInspector {
    /// Creates the tables of the built-in datasets that are missing. Returns the names of those it created.
    ///
    /// - Parameter wanted: the tables to create; nil for all.
    package func createBuiltIn(_ wanted: [String]? = nil) throws -> [String] {
        var made: [String] = []
        for (table, sql) in Self.builtInTables where try wanted?.contains(table) != false && !db.hasTable(table) {
            try db.execute(sql: sql)
            made.append(table)
        }
        return made
    }

    /// Whether this statement makes a built-in table as this program does.
    static func isBuiltIn(_ sql: String) -> Bool { builtInTables.contains { $0.1.utf8.elementsEqual(sql.utf8) } }

    /// The statements that make some of the built-in tables, unless a text makes them.
    static func builtInStatements(_ wanted: [String], besides text: SchemaText) -> [SchemaText.Statement] {
        let taken = Set(text.statements.map(\.key)), wanted = Set(wanted)
        return builtInTables.map { SchemaText.Statement(type: .table, name: $0.0, sql: $0.1) }.filter { wanted.contains($0.name) && !taken.contains($0.key) }
    }

    private static let builtInTables = [
        (
            "buckets",
            """
            CREATE TABLE buckets(
                id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, iconUrl TEXT,
                createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, isOrphan INTEGER)
            """
        ),
        (
            "notifications",
            """
            CREATE TABLE notifications(
                id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT, readAt TEXT, sentAt TEXT,
                createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, bucketId TEXT NOT NULL REFERENCES buckets(id),
                attachments TEXT NOT NULL DEFAULT '[]', actions TEXT NOT NULL DEFAULT '[]', tapAction TEXT)
            """
        ),
    ]
}

// Tables whose new keys SQLite generates: the key is INTEGER PRIMARY KEY.
extension TableInspector {
    /// Whether SQLite generates the keys of new rows: the key is an alias of the table's rowid.
    package func hasRowidKey(_ schema: DatasetSchema) throws -> Bool {
        guard schema.keyShape.isSingle else { return false }
        let primary = try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0", arguments: [schema.table])
        guard primary.count == 1, (primary[0][0] as String).folded == schema.keyColumns[0].column.folded else { return false }
        // A table without rowid has an index for its primary key.
        return try (primary[0][1] as String).folded == "integer"
            && Int.fetchOne(db, sql: "SELECT count(*) FROM pragma_index_list(?) WHERE origin = 'pk'", arguments: [schema.table]) == 0
    }

    /// Whether the table never reuses a key (AUTOINCREMENT).
    package func hasAutoincrement(_ schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable("sqlite_sequence"), try hasRowidKey(schema) else { return false }
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", arguments: [schema.table])
        // The word may also stand in a comment, or in quotes as the name of a column.
        return sql.map { SQLToken.all(of: Array($0.unicodeScalars)).contains { $0.isWord("autoincrement") } } ?? false
    }

    /// A key that no row has, and that no row ever had in a table with AUTOINCREMENT.
    ///
    /// - Throws: ``LocalStoreError`` with `.badRow` if the largest possible key is taken.
    package func unusedKey(in schema: DatasetSchema) throws -> EntityKey {
        var last = try Int64.fetchOne(db, sql: "SELECT max(\(schema.keyColumns[0].column.sqlIdentifier)) FROM \(schema.table.sqlIdentifier)") ?? 0
        if try db.hasTable("sqlite_sequence") {
            last = max(last, try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = ? COLLATE NOCASE", arguments: [schema.table]) ?? 0)
        }
        guard last < .max else { throw LocalStoreError(.badRow, at: "\(path), table \(schema.table)", "the largest key is taken") }
        return .integer(max(0, last) + 1)
    }
}
