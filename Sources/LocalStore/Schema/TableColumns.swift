import GRDB
import GRDBSQLite
import SnapshotModel
import StrictText

/// The columns of a table as the database declares them.
struct TableColumns {
    let name: String
    let isWithoutRowid: Bool
    let isStrict: Bool
    private(set) var columns: [Column]

    struct Column {
        let name: String
        /// The declared type as it was written; empty if there is none.
        let declared: String
        let isNotNull: Bool
        /// The position in the PRIMARY KEY, from 1; 0 for other columns.
        let keyPlace: Int
        let isGenerated: Bool
        /// In upper case; `BINARY` if none is declared.
        let collation: String
        let affinity: ColumnAffinity
        /// The default as it was written; nil if there is none.
        let defaultText: String?

        /// The declared type without its length, in lower case: `decimal` for `DECIMAL(10,2)`.
        var declaredName: String {
            let words = declared.folded.text.utf8.prefix { $0 != UInt8(ascii: "(") }.split(separator: UInt8(ascii: " "))
            return words.map { String(Substring($0)) }.joined(separator: " ")
        }

        var isDeclaredBoolean: Bool { ["bool", "boolean"].contains(declaredName) }
        var isDeclaredAsTime: Bool { ["date", "datetime", "timestamp", "time"].contains { declaredName == $0 || declaredName.exact.hasPrefix($0 + " ") } }
    }

    /// The columns of the PRIMARY KEY, in its order.
    var primaryKey: [Column] { columns.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace } }

    /// The same table with only these columns.
    func only(_ names: [String]) -> TableColumns {
        let wanted = Set(names.map(\.folded))
        var some = self
        some.columns.removeAll { !wanted.contains($0.name.folded) }
        return some
    }

    func column(_ name: String) -> Column? { columns.first { $0.name.folded == name.folded } }

    /// Reads a table's columns; nil if there is no such table.
    init?(_ db: Database, _ table: String) throws {
        let sql = "SELECT name, wr, strict FROM pragma_table_list(?) WHERE schema = 'main'"
        guard let list = try Row.fetchOne(db.keptStatement(sql: sql), arguments: [table]) else { return nil }
        let name: String = list[0], isStrict: Bool = list[2]
        self.name = name
        isWithoutRowid = list[1]
        self.isStrict = isStrict
        columns = try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, type, \"notnull\", pk, hidden, dflt_value FROM pragma_table_xinfo(?) ORDER BY cid"), arguments: [table]
        ).map { row in
            let column: String = row[0]
            return Column(
                name: column, declared: row[1], isNotNull: row[2], keyPlace: row[3], isGenerated: (row[4] as Int) != 0,
                collation: try columnCollation(db, table: name, column: column), affinity: ColumnAffinity(declared: row[1], isStrict: isStrict),
                defaultText: row[5])
        }
    }
}

/// A UNIQUE constraint or index of a table.
struct UniqueIndex {
    let name: String
    /// The columns; nil for an expression.
    let columns: [String?]
    /// In upper case.
    let collations: [String]
    let isPartial: Bool
    /// Whether the index belongs to the PRIMARY KEY.
    let isPrimary: Bool

    var isPlain: Bool { !isPartial && !columns.contains { $0 == nil } }

    /// The parts of an index: name, which is NULL for an expression; collation; whether it is descending. A column that stands in the index
    /// twice with one collation, which SQLite permits, is returned once.
    static let partsSQL = """
        SELECT name, coll, "desc" FROM pragma_index_xinfo(?1) part
        WHERE key = 1 AND NOT EXISTS (
            SELECT 1 FROM pragma_index_xinfo(?1) earlier
            WHERE earlier.key = 1 AND earlier.seqno < part.seqno AND earlier.name = part.name AND earlier.coll = part.coll)
        ORDER BY seqno
        """

    /// The unique indexes of a table, the index of the PRIMARY KEY first.
    static func all(_ db: Database, of table: String) throws -> [UniqueIndex] {
        try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, partial, origin FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY origin <> 'pk', seq DESC"),
            arguments: [table]
        ).map { index in
            let parts = try Row.fetchAll(db.keptStatement(sql: partsSQL), arguments: [index[0] as String])
            return UniqueIndex(
                name: index[0], columns: parts.map { $0[0] }, collations: parts.map { ($0[1] as String).upper }, isPartial: index[1],
                isPrimary: (index[2] as String) == "pk")
        }
    }
}

extension Database {
    /// The journal mode of the file, in lower case: `wal`, `delete`, …
    func journalMode() throws -> String { try String.fetchOne(self, sql: "PRAGMA main.journal_mode")?.folded.text ?? "" }

    /// A statement that the connection keeps, so that SQLite compiles it once.
    ///
    /// GRDB finds it by its SQL as a `String`, to which names that are canonically equal are one. So what is not ASCII stands in front of the SQL
    /// once more, as digits.
    func keptStatement(sql: String) throws -> Statement {
        let others = sql.utf8.filter { $0 >= 0x80 }
        guard !others.isEmpty else { return try cachedStatement(sql: sql) }
        return try cachedStatement(sql: "/* \(others.map { String($0, radix: 16) }.joined()) */ \(sql)")
    }

    /// Whether a table of that name exists, as this transaction sees the database.
    ///
    /// GRDB's `tableExists` caches its answer until this connection changes the schema, but other programs change it too.
    func hasTable(_ name: String) throws -> Bool {
        // In SQLite's schema in memory: sqlite_schema has no index.
        try KeyedStatement(self, "SELECT EXISTS (SELECT 1 FROM pragma_table_list(?) WHERE schema = 'main' AND type <> 'view')").bind(.text(name))
            .integer() == 1
    }

    /// The defaults of a table's columns, as the table declares them, by the columns' folded names.
    ///
    /// - Parameter required: only those of columns that are NOT NULL.
    func defaults(of table: String, required: Bool = false) throws -> [ExactText: String] {
        let sql = "SELECT name, dflt_value FROM pragma_table_info(?) WHERE dflt_value IS NOT NULL AND (\"notnull\" = 1 OR NOT ?)"
        return Dictionary(
            try Row.fetchAll(keptStatement(sql: sql), arguments: [table, required]).map { (($0[0] as String).folded, $0[1] as String) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The defaults of optional columns of a dataset that the table declares NOT NULL, by the columns' folded names.
    ///
    /// A default that calls a function of the application is not among them: only the application can use it.
    func requiredDefaults(of schema: DatasetSchema) throws -> [ExactText: String] {
        let optional = Set(schema.columns.filter(\.isOptional).map { $0.column.folded })
        guard !optional.isEmpty else { return [:] }
        return try defaults(of: schema.table, required: true).filter { optional.contains($0.key) && (try? makeStatement(sql: "SELECT (\($0.value))")) != nil }
    }

    /// The columns, quoted, that a dataset does not describe and without which SQLite inserts no row.
    func requiredColumns(besides schema: DatasetSchema) throws -> [String] {
        let described = Set(schema.columns.map { $0.column.folded })
        return try String.fetchAll(
            keptStatement(sql: "SELECT name FROM pragma_table_info(?) WHERE \"notnull\" = 1 AND dflt_value IS NULL AND pk = 0"), arguments: [schema.table]
        ).filter { !described.contains($0.folded) }.map(\.sqlIdentifier)
    }
}

/// The collation that a column is declared with, in upper case; `BINARY` if none is declared.
func columnCollation(_ db: Database, table: String, column: String) throws -> String {
    var collation: UnsafePointer<CChar>?
    let code = sqlite3_table_column_metadata(db.sqliteConnection, "main", table, column, nil, &collation, nil, nil, nil)
    guard code == SQLITE_OK, let collation else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
    // SAFETY: SQLite's text is valid until the schema changes; it is copied at once.
    return String(cString: collation).upper
}
