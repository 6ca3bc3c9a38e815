import GRDB
import SnapshotModel
import StrictText

/// The columns of a table as the database declares them.
struct TableColumns {
    let name: String
    let isWithoutRowid: Bool
    let isStrict: Bool
    let columns: [Column]

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
        return TableColumns(
            name: name, isWithoutRowid: isWithoutRowid, isStrict: isStrict, columns: columns.filter { wanted.contains($0.name.folded) })
    }

    private init(name: String, isWithoutRowid: Bool, isStrict: Bool, columns: [Column]) {
        self.name = name
        self.isWithoutRowid = isWithoutRowid
        self.isStrict = isStrict
        self.columns = columns
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
