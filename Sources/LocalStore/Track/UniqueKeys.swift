import GRDB
import SnapshotModel

/// A set of columns that no two rows of a table have in common, other than the dataset's key.
///
/// `INSERT OR REPLACE` removes a row that has the same ones without telling any delete trigger.
struct UniqueKey {
    /// Each column with the collation that the index compares it by.
    let columns: [(name: String, collation: String)]

    /// The unique keys of a dataset's table besides its key.
    ///
    /// - Returns: nil if one of them is an index on expressions, which a trigger cannot follow.
    static func others(_ db: Database, _ schema: DatasetSchema) throws -> [UniqueKey]? {
        var found: [UniqueKey] = []
        let key = Set(schema.keyColumns.map { $0.column.asciiLowercased })
        for index in try Row.fetchAll(
            db.cachedStatement(sql: "SELECT name FROM pragma_index_list(?) WHERE \"unique\" = 1 ORDER BY name"), arguments: [schema.table])
        {
            let parts = try Row.fetchAll(
                db.cachedStatement(sql: "SELECT name, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno"), arguments: [index[0] as String])
            var columns: [(String, String)] = []
            for part in parts {
                guard let name = part[0] as String? else { return nil }
                columns.append((name, part[1]))
            }
            if columns.count != key.count || Set(columns.map { $0.0.asciiLowercased }) != key { found.append(UniqueKey(columns: columns)) }
        }
        // INTEGER PRIMARY KEY is the rowid and has no index of its own.
        let primary = try Row.fetchAll(db.cachedStatement(sql: "SELECT name, type FROM pragma_table_info(?) WHERE pk > 0"), arguments: [schema.table])
        if primary.count == 1, (primary[0][1] as String).asciiLowercased == "integer",
            !(key.count == 1 && key.contains((primary[0][0] as String).asciiLowercased))
        {
            found.append(UniqueKey(columns: [(primary[0][0], "BINARY")]))
        }
        return found
    }

    /// The condition that the row named `t` has what the new row has.
    var isTakenFrom: String {
        columns.map { "t.\($0.name.sqlIdentifier) = NEW.\($0.name.sqlIdentifier) COLLATE \($0.collation.sqlIdentifier)" }
            .joined(separator: " AND ")
    }
}
