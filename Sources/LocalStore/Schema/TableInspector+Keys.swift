import GRDB
package import SnapshotModel
import StrictText

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
