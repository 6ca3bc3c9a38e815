package import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// The columns of a table as the database declares them.
package struct TableColumns {
    package let name: String
    package let isWithoutRowid: Bool
    package let isStrict: Bool
    package private(set) var columns: [Column]
    /// The column that is another name of the rowid: INTEGER PRIMARY KEY.
    package let rowidAlias: Column?

    package struct Column {
        package let name: String
        /// The declared type as it was written; empty if there is none.
        package let declared: String
        let isNotNull: Bool
        /// The position in the PRIMARY KEY, from 1; 0 for other columns.
        package let keyPlace: Int
        package let isGenerated: Bool
        /// In upper case; `BINARY` if none is declared.
        package let collation: String
        package let affinity: ColumnAffinity
        /// The default as it was written; nil if there is none.
        package let defaultText: String?

        /// Whether SQLite inserts no row without a value for the column.
        package var isRequired: Bool { isNotNull && defaultText == nil && keyPlace == 0 }

        /// The declared type without its length, in lower case: `decimal` for `DECIMAL(10,2)`.
        var declaredName: String {
            let words = declared.folded.text.utf8.prefix { $0 != UInt8(ascii: "(") }.split(separator: UInt8(ascii: " "))
            return words.map { String(Substring($0)) }.joined(separator: " ")
        }

        package var isDeclaredBoolean: Bool { ["bool", "boolean"].contains(declaredName) }
        var isDeclaredAsTime: Bool { ["date", "datetime", "timestamp", "time"].contains { declaredName == $0 || declaredName.exact.hasPrefix($0 + " ") } }
    }

    /// The columns of the PRIMARY KEY, in its order.
    package var primaryKey: [Column] { columns.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace } }

    /// The columns that can be written.
    package var plain: [Column] { columns.filter { !$0.isGenerated } }

    /// The columns that can be written and that a dataset does not describe.
    package func undescribed(by schema: DatasetSchema) -> [Column] {
        let described = Set(schema.columns.map { $0.column.folded })
        return plain.filter { !described.contains($0.name.folded) }
    }

    /// The defaults of optional columns of a dataset that the table declares NOT NULL, by the columns' folded names.
    ///
    /// A default that calls a function of the application is not among them: only the application can use it.
    package func requiredDefaults(of schema: DatasetSchema, _ db: Database) -> [ExactText: String] {
        var found: [ExactText: String] = [:]
        for column in schema.columns where column.isOptional {
            guard let own = self.column(column.column), own.isNotNull, let text = own.defaultText, (try? db.makeStatement(sql: "SELECT (\(text))")) != nil
            else { continue }
            found[own.name.folded] = text
        }
        return found
    }

    /// A name of the rowid that no column has; nil if there is none, or no rowid.
    package var rowidName: String? { isWithoutRowid ? nil : RowidName.all.first { column($0) == nil } }

    /// The same table with only these columns.
    func only(_ names: [String]) -> TableColumns {
        let wanted = Set(names.map(\.folded))
        var some = self
        some.columns.removeAll { !wanted.contains($0.name.folded) }
        return some
    }

    package func column(_ name: String) -> Column? { columns.first { $0.name.folded == name.folded } }

    /// Reads a table's columns; nil if there is no such table.
    package init?(_ db: Database, _ table: String) throws {
        let sql = "SELECT name, wr, strict FROM pragma_table_list(?) WHERE schema = 'main'"
        guard let list = try Row.fetchOne(db.keptStatement(sql: sql), arguments: [table]) else { return nil }
        let name: String = list[0], isStrict: Bool = list[2], isWithoutRowid: Bool = list[1]
        (self.name, self.isStrict, self.isWithoutRowid) = (name, isStrict, isWithoutRowid)
        columns = try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?) ORDER BY cid"), arguments: [table]
        ).map { row in
            let column: String = row[0]
            return Column(
                name: column, declared: row[1], isNotNull: row[2], keyPlace: row[3], isGenerated: (row[4] as Int) != 0,
                collation: try columnCollation(db, table: name, column: column), affinity: ColumnAffinity(declared: row[1], isStrict: isStrict),
                defaultText: row[5])
        }
        let primary = columns.filter { $0.keyPlace > 0 }, isAlias = !isWithoutRowid && primary.count == 1 && primary[0].declared.folded == "integer"
        // INTEGER PRIMARY KEY DESC is not the rowid, and has an index.
        rowidAlias = try isAlias && !UniqueIndex.all(db, of: name).contains { $0.isPrimary } ? primary[0] : nil
    }
}

/// A UNIQUE constraint or index of a table.
struct UniqueIndex {
    struct Part {
        /// The column; nil for an expression.
        let name: String?
        /// In upper case.
        let collation: String
        let isDescending: Bool
    }

    let name: String
    let parts: [Part]
    let isPartial: Bool
    /// Whether the index belongs to the PRIMARY KEY.
    let isPrimary: Bool

    var isPlain: Bool { !isPartial && !parts.contains { $0.name == nil } }

    /// The parts, without a column that stands in the index a second time with one collation, which SQLite permits.
    var distinct: [Part] {
        parts.indices.filter { index in
            !parts[..<index].contains { $0.name != nil && $0.name?.folded == parts[index].name?.folded && $0.collation.exact == parts[index].collation.exact }
        }.map { parts[$0] }
    }

    /// The unique indexes of a table, the index of the PRIMARY KEY first.
    static func all(_ db: Database, of table: String) throws -> [UniqueIndex] {
        try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, partial, origin FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY origin <> 'pk', seq DESC"),
            arguments: [table]
        ).map { index in
            let sql = "SELECT name, coll, \"desc\" FROM pragma_index_xinfo(?1) WHERE key = 1 ORDER BY seqno"
            let parts = try Row.fetchAll(db.keptStatement(sql: sql), arguments: [index[0] as String])
            return UniqueIndex(
                name: index[0], parts: parts.map { Part(name: $0[0], collation: ($0[1] as String).upper, isDescending: $0[2]) }, isPartial: index[1],
                isPrimary: (index[2] as String) == "pk")
        }
    }
}

extension Database {
    /// The journal mode of the file, in lower case: `wal`, `delete`, …
    package func journalMode() throws -> String { try String.fetchOne(self, sql: "PRAGMA main.journal_mode")?.folded.text ?? "" }

    /// A statement that the connection keeps, so that SQLite compiles it once.
    ///
    /// GRDB finds it by its SQL as a `String`, to which names that are canonically equal are one. So what is not ASCII stands in front of the SQL
    /// once more, as digits.
    package func keptStatement(sql: String) throws -> Statement {
        let others = sql.utf8.filter { $0 >= 0x80 }
        guard !others.isEmpty else { return try cachedStatement(sql: sql) }
        return try cachedStatement(sql: "/* \(others.map { String($0, radix: 16) }.joined()) */ \(sql)")
    }

    /// Whether a table of that name exists, as this transaction sees the database.
    ///
    /// GRDB's `tableExists` caches its answer until this connection changes the schema, but other programs change it too.
    package func hasTable(_ name: String) throws -> Bool { try hasTables([name]) }

    /// Whether tables of all these names exist.
    package func hasTables(_ names: [String]) throws -> Bool {
        // Reads the schema again if another program changed it. `pragma_table_list` would compile each view whose columns SQLite does not know.
        _ = try KeyedStatement(self, "SELECT 1 FROM main.sqlite_schema LIMIT 1").integer()
        return names.allSatisfy { name in
            !name.utf8.contains(0) && sqlite3_table_column_metadata(sqliteConnection, "main", name, nil, nil, nil, nil, nil, nil) == SQLITE_OK
        }
    }
}

/// The collation that a column is declared with, in upper case; `BINARY` if none is declared.
package func columnCollation(_ db: Database, table: String, column: String) throws -> String {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    guard code == SQLITE_OK, let collation else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    // SAFETY: SQLite's text is valid until the schema changes; it is copied at once.
    return String(cString: collation).upper
}
