package import GRDB
package import SnapshotModel
package import StrictText

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
    package let transaction: LocalTransaction

    /// Checks that a dataset's table exists and matches its description.
    ///
    /// - Throws: ``SyncError`` with `.schemaMismatch`, naming dataset, table and column.
    package func check(of schema: DatasetSchema) throws -> TableShape {
        let place = "\(path), table \(schema.table)"
        let isSetUp = try transaction.settings.exists()
        let hasFile = try isSetUp && transaction.settings.descriptionSource() == .file
        func refuse(_ reason: String, _ hint: String) -> SyncError {
            SyncError(database: .schemaMismatch, at: place, "dataset \(schema.name): \(reason)", hint: hint)
        }
        let lowercased = schema.table.folded
        guard !lowercased.hasPrefix("snapsync_"), !lowercased.hasPrefix("sqlite_") else {
            throw refuse("the table is not an application's own", "name another table in the dataset file")
        }
        guard
            let kind = try String.fetchOne(
                db, sql: "SELECT type FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE", arguments: [schema.table])
        else {
            throw try refuse(
                "there is no such table",
                "make it first (snapsync init --built-in makes the built-in ones, snapsync join those of the zone), or "
                    + (!isSetUp
                        ? "name another table in a dataset file (--datasets)"
                        : hasFile ? "correct the dataset file" : "take it out: \(transaction.settings.read().removal(of: schema, at: path))"))
        }
        guard kind == "table" else {
            throw try refuse(
                "it is a view",
                hasFile || !isSetUp
                    ? "name the table behind it in a dataset file (--datasets)"
                    : "make it a table again, or take it out: \(transaction.settings.read().removal(of: schema, at: path))")
        }

        guard let table = try TableColumns(db, schema.table) else { throw DatabaseError(resultCode: .SQLITE_SCHEMA) }
        let isHidden = try hiddenKey(of: schema) != nil
        for (index, column) in schema.columns.enumerated() where !(isHidden && schema.keyIndices == [index]) {
            guard let found = table.column(column.column) else {
                throw refuse(
                    "it has no column \(column.column)",
                    !isSetUp
                        ? "add the column (the zone's tables: snapsync tables sql LOCATION), or leave it out in a dataset file (--datasets)"
                        : "\(hasFile ? "correct the dataset file, or " : "")add the column; snapsync tables adopt takes over what changed")
            }
            guard !found.isGenerated else {
                throw refuse(
                    "the column \(column.column) is computed",
                    hasFile || !isSetUp
                        ? "take it out of the dataset file (--datasets): it follows from the others"
                        : "it follows from the others; to take it out of the dataset: snapsync tables adopt \(path.shellWord)")
            }
            guard let shape = column.shape else { continue }
            guard !found.affinity.spoils(shape) else {
                throw refuse(
                    "the column \(column.column) is declared \(found.declared), which cannot hold the type \(shape.rawValue)",
                    "declare the column so that it can hold the type, or leave the type out in the dataset file")
            }
        }
        if !isHidden { try checkKey(of: schema, in: table, hasFile: hasFile || !isSetUp, refuse: refuse) }

        // With another affinity, SQLite stores a text unchanged only if it does not look like a number. One connection reads such a table.
        let affinity = table.column(schema.keyColumns[0].column)?.affinity ?? .blob, undescribed = table.undescribed(by: schema)
        let isInOrder = !schema.keyShape.isSingle || affinity == .text || affinity == .blob
        return TableShape(
            hasRangeableKey: try !table.isWithoutRowid && isInOrder && hasIndexInKeyOrder(schema), rowidName: table.rowidName,
            undescribedColumns: undescribed.map(\.name), unfillableColumns: undescribed.filter(\.isRequired).map(\.name))
    }

    /// The key must be unique by itself, and the dataset must compare it as the table does. Otherwise a version would contain different entities
    /// on different devices.
    private func checkKey(of schema: DatasetSchema, in table: TableColumns, hasFile: Bool, refuse: (String, String) -> SyncError) throws {
        // The rowid holds only integers, in any collation.
        if schema.isKey(table.rowidAlias) { return }
        let names = schema.keyColumns.map(\.column)
        let key = names.joined(separator: ", ")
        for column in schema.keyColumns {
            let own = table.column(column.column)?.collation ?? "BINARY"
            guard column.shape ?? .text == .text, own.folded != column.collation.rawValue.exact else { continue }
            guard let known = KeyCollation(rawValue: own.folded.text) else {
                throw refuse(
                    "the key column \(column.column) is compared by the collation \(own), which is not SQLite's own",
                    "declare the column without COLLATE, or with NOCASE or RTRIM")
            }
            throw refuse(
                "the key column \(column.column) is compared by the collation \(own), and the dataset by \(column.collation.rawValue)",
                !hasFile
                    ? "declare the column as before\(try otherKey(schema))"
                    : known == .binary
                        ? "leave \"collation\" out in the dataset file, or declare the column with it"
                        : "say \"collation\": \"\(known.rawValue)\" in the dataset file: keys that are equal for the table are one entity")
        }
        let wanted = Set(names.map(\.folded))
        var collations: [[String]] = []
        for index in try UniqueIndex.all(db, of: table.name).filter({ !$0.isPartial }).map(\.distinct)
        where index.count == wanted.count && Set(index.map { $0.name?.folded }) == Set(wanted.map { Optional($0) }) {
            if index.allSatisfy({ $0.collation.folded == table.column($0.name ?? "")?.collation.folded }) { return }
            collations.append(index.map(\.collation))
        }
        guard let other = collations.first else {
            let columns = names.count == 1 ? "column \(key) is not unique by itself" : "columns \(key) are not unique together"
            throw refuse(
                "the key \(columns)", "give \(Format.word(names.count, "it", or: "them")) a PRIMARY KEY or a UNIQUE index\(try otherKey(schema))")
        }
        throw refuse(
            "the unique index of the key \(key) compares by \(other.joined(separator: ", ")), and the columns by other collations",
            "declare the columns and the index with the same collations")
    }

    /// What to do about a table with another key than before, as a further sentence of a hint; empty before `init`.
    package func otherKey(_ schema: DatasetSchema) throws -> String {
        guard try transaction.settings.exists() else { return "" }
        let settings = try transaction.settings.read(), file = path.shellWord, isAlone = settings.datasets.count == 1
        let again = settings.role.publishes ? "snapsync tables add \(file) \(schema.table.shellWord)" : "snapsync tables adopt \(file) --create"
        return ". With another key the table is another dataset: run \(settings.removal(of: schema, at: path)), "
            + (isAlone ? "and set it up in another zone, for a zone has at least one" : "sync, then \(again)")
    }

    /// What to do to have the zone's table in place of one whose keys it cannot hold.
    package func zonesTable(instead schema: DatasetSchema) throws -> String {
        let settings = try transaction.settings.read()
        return "to take over the zone's: drop the table \(schema.table) here (copy its rows first if you need them; a rename takes foreign keys along), "
            + "then \(settings.removal(of: schema, at: path)), "
            + (settings.datasets.count == 1 ? "and set it up again" : "then snapsync tables adopt \(path.shellWord) --create")
    }

    /// See ``TableColumns/requiredDefaults(of:_:)``.
    package func requiredDefaults(of schema: DatasetSchema) throws -> [ExactText: String] {
        try TableColumns(db, schema.table)?.requiredDefaults(of: schema, db) ?? [:]
    }

    /// Whether a unique index has the key's columns in order, all ascending. Then SQLite reads the keys from the index alone.
    private func hasIndexInKeyOrder(_ schema: DatasetSchema) throws -> Bool {
        let names = schema.keyColumns.map(\.column.folded)
        return try UniqueIndex.all(db, of: schema.table).contains { index in
            !index.isPartial && index.distinct.map { $0.name?.folded ?? "" } == names && !index.distinct.contains { $0.isDescending }
        }
    }
}

extension DatasetSchema {
    /// Whether a column is the key, alone.
    fileprivate func isKey(_ column: TableColumns.Column?) -> Bool { column.map { [$0.name.folded] == keyColumns.map(\.column.folded) } ?? false }
}

/// SQLite's names of the rowid, for tables without a column of that name.
package enum RowidName {
    package static let all = ["rowid", "_rowid_", "oid"]
}

// Tables whose only key is the rowid.
extension TableInspector {
    /// The name of the rowid if the dataset's key is the rowid and not a column of the table; nil for any other key.
    package func hiddenKey(of schema: DatasetSchema) throws -> String? { try Self.hiddenKey(of: schema, db) }

    private static func rowidName(of schema: DatasetSchema) -> String? {
        guard schema.keyShape.isSingle, schema.keyColumns[0].shape ?? .integer == .integer else { return nil }
        return RowidName.all.first { $0.exact == schema.keyColumns[0].column.folded }
    }

    package static func hiddenKey(of schema: DatasetSchema, _ db: Database) throws -> String? {
        // If a column is an alias of the rowid, that column is the key.
        guard let name = rowidName(of: schema), let table = try TableColumns(db, schema.table), !table.isWithoutRowid, table.rowidAlias == nil else {
            return nil
        }
        return table.column(name) == nil ? name : nil
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
    package func hasRowidKey(_ schema: DatasetSchema) throws -> Bool { schema.isKey(try TableColumns(db, schema.table)?.rowidAlias) }

    /// Whether the table never reuses a key (AUTOINCREMENT).
    package func hasAutoincrement(_ schema: DatasetSchema) throws -> Bool {
        guard try db.hasTable("sqlite_sequence"), try hasRowidKey(schema) else { return false }
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", arguments: [schema.table])
        // The word may also stand in a comment, or in quotes as the name of a column.
        return sql.map { SQLToken.all(of: Array($0.unicodeScalars)).contains { $0.isWord("autoincrement") } } ?? false
    }

    /// A key that no row has, and that no row ever had in a table with AUTOINCREMENT.
    ///
    /// - Throws: ``SyncError`` with `.badRow` if the largest possible key is taken.
    package func unusedKey(in schema: DatasetSchema) throws -> EntityKey {
        var last = try Int64.fetchOne(db, sql: "SELECT max(\(schema.keyColumns[0].column.sqlIdentifier)) FROM \(schema.table.sqlIdentifier)") ?? 0
        if try db.hasTable("sqlite_sequence") {
            last = max(last, try Int64.fetchOne(db, sql: "SELECT seq FROM sqlite_sequence WHERE name = ? COLLATE NOCASE", arguments: [schema.table]) ?? 0)
        }
        guard last < .max else { throw SyncError(database: .badRow, at: "\(path), table \(schema.table)", "the largest key is taken") }
        return .integer(max(0, last) + 1)
    }
}
