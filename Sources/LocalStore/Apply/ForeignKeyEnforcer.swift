import GRDB
package import SnapshotModel
import StrictText

/// Keeps foreign keys true across a delete-then-insert, without letting it reach rows that are not ours.
///
/// SQLite would apply ON DELETE to every row that is deleted, though most come back a moment later. So enforcement is
/// off while an import runs, and this does afterwards what the keys declare, for those parents alone that are gone for
/// good: an application's own rows are deleted with CASCADE, cleared with SET NULL or SET DEFAULT, and with RESTRICT or
/// NO ACTION the import fails. What dangled before dangles on. Keys between two datasets are the version's own matter.
package struct ForeignKeyEnforcer {
    private let transaction: LocalTransaction
    private let keys: [ForeignKey]
    private let datasets: Set<String>

    /// Notes what dangles now. Call before the first deletion, in the import's transaction.
    package init(_ transaction: LocalTransaction, datasets schemas: [DatasetSchema]) throws {
        self.transaction = transaction
        let datasets = Set(schemas.map { $0.table.asciiLowercased })
        self.datasets = datasets
        let all = try ForeignKey.all(transaction.db)

        // Tables whose rows may go: the datasets', and those that lose rows by CASCADE from one that may.
        var losing = datasets
        var grew = true
        while grew {
            grew = false
            for key in all where key.onDelete == "CASCADE" && losing.contains(key.parent.asciiLowercased) {
                grew = losing.insert(key.child.asciiLowercased).inserted || grew
            }
        }
        keys = all.filter { key in
            let parent = key.parent.asciiLowercased, child = key.child.asciiLowercased
            return !(datasets.contains(parent) && datasets.contains(child)) && (losing.contains(parent) || datasets.contains(child))
        }
        guard !keys.isEmpty else { return }
        let db = transaction.db
        try db.execute(
            sql: """
                CREATE TEMP TABLE IF NOT EXISTS snapsync_dangling(key INTEGER, target TEXT, PRIMARY KEY(key, target)) WITHOUT ROWID;
                DELETE FROM temp.snapsync_dangling;
                """)
        for key in keys where try db.hasTable(key.parent) {
            try db.execute(
                sql: "INSERT OR IGNORE INTO temp.snapsync_dangling SELECT ?, \(key.target) FROM \(key.child.sqlIdentifier) c WHERE \(key.isDangling)",
                arguments: [key.number])
        }
    }

    /// Does what the keys declare for parents that are gone. Call after the last insertion.
    ///
    /// - Throws: ``LocalStoreError`` with `.foreignKeyViolated` where a key forbids what the version does.
    package func enforce() throws {
        let db = transaction.db
        var changed = !keys.isEmpty
        while changed {
            changed = false
            for key in keys where try db.hasTable(key.parent) {
                try apply(key, db)
                // Only a cascade makes further rows dangle.
                if key.onDelete == "CASCADE", db.changesCount > 0, !datasets.contains(key.child.asciiLowercased) { changed = true }
            }
        }
        if !keys.isEmpty { try db.execute(sql: "DROP TABLE IF EXISTS temp.snapsync_dangling") }
    }

    private func apply(_ key: ForeignKey, _ db: Database) throws {
        let child = key.child.sqlIdentifier
        let isNew = "\(key.isDangling) AND NOT EXISTS (SELECT 1 FROM temp.snapsync_dangling d WHERE d.key = \(key.number) AND d.target = \(key.target))"
        switch datasets.contains(key.child.asciiLowercased) ? "NO ACTION" : key.onDelete {
        case "CASCADE":
            try db.execute(sql: "DELETE FROM \(child) AS c WHERE \(isNew)")
        case "SET NULL":
            let assignments: String = key.columns.map { "\($0.child.sqlIdentifier) = NULL" }.joined(separator: ", ")
            try db.execute(sql: "UPDATE \(child) AS c SET \(assignments) WHERE \(isNew)")
        case "SET DEFAULT":
            let assignments: String = try key.columns.map { column -> String in
                let value = try String.fetchOne(
                    db, sql: "SELECT dflt_value FROM pragma_table_info(?) WHERE name = ? COLLATE NOCASE", arguments: [key.child, column.child])
                return "\(column.child.sqlIdentifier) = \(value.map { "(\($0))" } ?? "NULL")"
            }.joined(separator: ", ")
            try db.execute(sql: "UPDATE \(child) AS c SET \(assignments) WHERE \(isNew)")
            // A default may point at nothing, too.
            try refuse(key, where: isNew, db)
        default:
            try refuse(key, where: isNew, db)
        }
    }

    private func refuse(_ key: ForeignKey, where isNew: String, _ db: Database) throws {
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(key.child.sqlIdentifier) c WHERE \(isNew)") ?? 0
        guard count == 0 else {
            throw LocalStoreError(
                .foreignKeyViolated, at: "\(transaction.path), table \(key.child)",
                "\(Format.count(count, "row")) would point at rows of \(key.parent) that are not there (\(key.onDelete)); nothing was changed",
                hint: "remove or change those rows, or declare the key ON DELETE CASCADE or SET NULL")
        }
    }
}
