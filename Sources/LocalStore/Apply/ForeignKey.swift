import GRDB
import StrictText

/// A foreign key as the database declares it.
struct ForeignKey {
    let number: Int
    let child: String
    let parent: String
    /// Pairs of the child's column and the parent's.
    let columns: [(child: String, parent: String)]
    /// `CASCADE`, `SET NULL`, `SET DEFAULT`, `RESTRICT` or `NO ACTION`.
    let onDelete: String
    /// The action when the parent's key changes; same values as ``onDelete``.
    let onUpdate: String

    /// All foreign keys of the database.
    static func all(_ db: Database) throws -> [ForeignKey] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT t.name, f.id, f."table", f."from", f."to", f.on_delete, f.seq, f.on_update
                FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table' ORDER BY t.name, f.id, f.seq
                """)
        var found: [ForeignKey] = []
        var columns: [(String, String)] = []
        for (index, row) in rows.enumerated() {
            let child: String = row[0], parent: String = row[2]
            let to: String = try (row[4] as String?) ?? primaryKey(of: parent, at: row[6], db)
            columns.append((row[3], to))
            let isLast = index + 1 == rows.count || (rows[index + 1][0] as String).exact != child.exact || rows[index + 1][1] as Int != row[1]
            if isLast {
                found.append(ForeignKey(number: found.count, child: child, parent: parent, columns: columns, onDelete: row[5], onUpdate: row[7]))
                columns = []
            }
        }
        return found
    }

    private static func primaryKey(of table: String, at position: Int, _ db: Database) throws -> String {
        let names = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table])
        // A foreign key without matching columns in its parent is SQLite's "foreign key mismatch". `rowid` keeps the SQL valid.
        return position < names.count ? names[position] : "rowid"
    }

    /// The condition that row `c` of the child table refers to a parent.
    var isSet: String { columns.map { "c.\($0.child.sqlIdentifier) IS NOT NULL" }.joined(separator: " AND ") }

    /// The condition that row `c` of the child table refers to row `p` of the parent table. The parent's collation counts: of two columns, SQLite
    /// takes the left one's.
    var isMatch: String { columns.map { "p.\($0.parent.sqlIdentifier) = c.\($0.child.sqlIdentifier)" }.joined(separator: " AND ") }

    /// The condition that row `c` of the child table refers to a parent that does not exist.
    var isDangling: String { "\(isSet) AND NOT EXISTS (SELECT 1 FROM \(parent.sqlIdentifier) p WHERE \(isMatch))" }

    /// The values by which row `c` of the child table refers to its parent, as one text.
    var target: String {
        columns.map { "quote(c.\($0.child.sqlIdentifier))" }.joined(separator: " || ',' || ")
    }
}
