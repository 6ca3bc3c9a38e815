import GRDB

/// A column that a later version of the toolkit added to one of its tables.
///
/// ``all`` lists the migrations in the order of the versions that added them. A migration is pending if its table exists without its column: the
/// schema itself shows which version created a table. A stored version number would not show it, because an earlier version creates some tables
/// when it first needs them, perhaps after a later version has stored its number.
///
/// GRDB's `DatabaseMigrator` is not used because it records its migrations in a table that is always named `grdb_migrations`. The toolkit
/// promises that its tables in a user's database begin with `snapsync_`, and an application may have its own migrator, and with it that table.
struct LocalMigration: Sendable {
    let table: LocalTable
    let column: String
    /// What follows the column's name in `ALTER TABLE … ADD COLUMN`.
    let definition: String

    static let all = [
        LocalMigration(table: .changes, column: "isNew", definition: "INTEGER NOT NULL DEFAULT 1"),
        LocalMigration(table: .changes, column: "isMark", definition: "INTEGER NOT NULL DEFAULT 0"),
        LocalMigration(table: .changes, column: "base", definition: "INTEGER"),
        LocalMigration(table: .published, column: "base", definition: "INTEGER"),
        limitedInstants,
        LocalMigration(table: .outbox, column: "shown", definition: "TEXT"),
    ]

    /// Limits instants of the version that are later than the version itself. The code that adds the column also limits the existing instants
    /// (``FutureInstants/limitKnown(of:)``).
    static let limitedInstants = LocalMigration(table: .tracking, column: "limited", definition: "INTEGER NOT NULL DEFAULT 1")

    /// The migrations that this database needs. Runs one query, whatever the number of migrations.
    static func pending(_ db: Database) throws -> [LocalMigration] {
        let columns = try KeyedStatement(db, pendingQuery)
        defer { columns.end() }
        var pending: [LocalMigration] = []
        while try columns.step() { pending.append(all[Int(columns.integer(0))]) }
        return pending
    }

    /// Whether this database needs a migration.
    static func isPending(_ db: Database) throws -> Bool { try !pending(db).isEmpty }

    /// The numbers of the pending migrations: tables that exist without the column.
    private static let pendingQuery = """
        SELECT m.number FROM (\(all.enumerated().map { "SELECT \($0) AS number, '\($1.table.name)' AS tableName, '\($1.column)' AS columnName" }.joined(separator: " UNION ALL "))) m
        WHERE EXISTS (SELECT 1 FROM main.sqlite_schema s WHERE s.type = 'table' AND s.name = m.tableName)
            AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.tableName) c WHERE c.name = m.columnName) ORDER BY m.number
        """

    /// Adds the column.
    func run(_ db: Database) throws { try db.execute(sql: "ALTER TABLE \(table.name) ADD COLUMN \(column) \(definition)") }
}
