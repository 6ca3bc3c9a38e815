import GRDB
import SnapshotModel
import StrictText

/// Preserves the values of columns that the dataset does not describe. They belong to this database, and an import must not change them.
///
///     let own = try OwnColumns(transaction, schema, number: 0)   // before a row changes
///     …                                                          // rows are deleted and inserted
///     try own?.restore()
///
/// A temporary trigger copies the values of each deleted row while the application's triggers are off. The cost is a row of a temporary table for
/// each deleted row that has such a value; nothing if the dataset describes all columns.
struct OwnColumns {
    private let db: Database
    private let schema: DatasetSchema
    private let columns: [String]
    private let kept: String

    /// Starts copying values; nil if the dataset describes all columns of its table.
    ///
    /// - Parameter number: distinguishes the temporary tables of one import.
    init?(_ transaction: LocalTransaction, _ schema: DatasetSchema, number: Int) throws {
        db = transaction.db
        self.schema = schema
        kept = "snapsync_own_\(number)"
        let described = Set(schema.columns.map { $0.column.folded })
        let info = try Row.fetchAll(
            db.keptStatement(sql: "SELECT name, dflt_value FROM pragma_table_xinfo(?) WHERE hidden = 0"), arguments: [schema.table]
        ).filter { !described.contains(($0[0] as String).folded) }
        guard !info.isEmpty else { return nil }
        columns = info.map { ($0[0] as String).sqlIdentifier }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        // A value that equals the column's default need not be copied.
        let isSet = info.map { row in "OLD.\((row[0] as String).sqlIdentifier) IS NOT (\((row[1] as String?) ?? "NULL"))" }.joined(separator: " OR ")
        let isKept = "EXISTS (SELECT 1 FROM temp.\(kept) k WHERE \(key.isSame("k", "OLD")))"
        try db.execute(
            sql: """
                CREATE TEMP TABLE \(kept) AS SELECT \(([key.list()] + columns).joined(separator: ", ")) FROM main.\(table) WHERE 0;
                CREATE UNIQUE INDEX temp.\(kept)_key ON \(kept)(\(key.indexed));
                CREATE TEMP TRIGGER \(kept)_delete BEFORE DELETE ON main.\(table) WHEN \(key.isNotNull("OLD")) AND (\(isSet)) AND NOT \(isKept) BEGIN
                    INSERT INTO \(kept) VALUES(\(([key.list("OLD")] + columns.map { "OLD.\($0)" }).joined(separator: ", "))); END;
                """)
    }

    /// Writes the values back into the rows that exist again, and drops the trigger and the temporary table.
    func restore() throws {
        let table = schema.table.sqlIdentifier, key = schema.keySQL, list = columns.joined(separator: ", ")
        try db.execute(
            sql: """
                DROP TRIGGER temp.\(kept)_delete;
                UPDATE main.\(table) AS t SET (\(list)) = (SELECT \(list) FROM temp.\(kept) k WHERE \(key.isSame("k", "t")))
                WHERE \(key.isIn("t", table: "temp.\(kept)"));
                DROP TABLE temp.\(kept);
                """)
    }
}
