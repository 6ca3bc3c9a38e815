import GRDB
package import LocalTables
package import SnapshotModel
import StrictText

/// Enforces foreign keys across a delete-then-insert without touching rows that only seem to lose their parents.
///
/// SQLite would apply ON DELETE to every deleted row, although the import inserts most of them again. So enforcement is off during an import.
/// Afterwards this type applies the declared actions for the parents that are really gone: it deletes an application's own rows with CASCADE,
/// clears their references with SET NULL or SET DEFAULT, and fails the import with RESTRICT or NO ACTION. If the parent is still there and only
/// the column has changed to which the reference leads, the actions of ON UPDATE apply. A parent that is held is not gone: it returns by itself, so
/// the reference stays, and a notice says so. References that dangled before the import stay as they are, too. Keys between two datasets are not
/// enforced in an import of a version: their rows are as the version has them. A file and an earlier version that break them are refused.
package struct ForeignKeyEnforcer {
    private let transaction: LocalTransaction
    private let keys: [TableReference]
    private let datasets: Set<ExactText>
    private let takesVersion: Bool
    private let hint: String?
    /// The datasets to which a reference leads by other columns than the key, by the number of the foreign key.
    private let movable: [Int: DatasetSchema]
    /// The condition that the parent is held to which row `c` of the child's table refers, by the number of a foreign key from a table that is not synced.
    private let held: [Int: String]

    /// Records which references dangle now. Call it before the first deletion, in the import's transaction.
    ///
    /// - Parameters:
    ///   - takesVersion: whether the rows of the datasets come from a version. Such rows are taken although they refer to rows of a table that is not
    ///     synced and that this database does not have: a notice says so, for no other version would be without them.
    ///   - hint: what to do if rows of a dataset would refer to missing rows of a dataset; nil if that is not checked. The check reads all rows.
    package init(_ transaction: LocalTransaction, datasets schemas: [DatasetSchema], takesVersion: Bool = false, between hint: String? = nil) throws {
        self.transaction = transaction
        self.hint = hint
        self.takesVersion = takesVersion
        let datasets = Set(schemas.map { $0.table.folded })
        self.datasets = datasets
        let all = try TableReference.all(transaction.db)

        // Tables that may lose rows: those of the datasets, and those that lose rows by CASCADE from a table that may lose rows.
        var losing = datasets
        var grew = true
        while grew {
            grew = false
            for key in all where key.onDelete == "CASCADE" && losing.contains(key.parent.folded) {
                grew = losing.insert(key.child.folded).inserted || grew
            }
        }
        keys = all.filter { key in
            let parent = key.parent.folded, child = key.child.folded
            if datasets.contains(parent), datasets.contains(child) { return hint != nil }
            return losing.contains(parent) || datasets.contains(child)
        }
        var movable: [Int: DatasetSchema] = [:], held: [Int: String] = [:]
        for key in keys where !datasets.contains(key.child.folded) {
            guard let schema = schemas.first(where: { $0.table.folded == key.parent.folded }) else { continue }
            let parent = key.parentKey(in: schema)
            if parent == nil { movable[key.number] = schema }
            held[key.number] = try transaction.held.isHeld(parent ?? "(SELECT d.parent \(key.referred))", of: schema)
        }
        (self.movable, self.held) = (movable, held)
        guard !keys.isEmpty else { return }
        let db = transaction.db
        try db.execute(
            sql: """
                CREATE TEMP TABLE IF NOT EXISTS snapsync_dangling(key INTEGER, target TEXT, isHeld INTEGER, PRIMARY KEY(key, target)) WITHOUT ROWID;
                CREATE TEMP TABLE IF NOT EXISTS snapsync_referred(key INTEGER, target TEXT, parent, PRIMARY KEY(key, target)) WITHOUT ROWID;
                DELETE FROM temp.snapsync_dangling;
                DELETE FROM temp.snapsync_referred;
                """)
        for key in keys {
            guard let schema = movable[key.number] else { continue }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO temp.snapsync_referred SELECT ?, \(key.target), \(schema.keySQL.value(of: "p"))
                    FROM \(key.child.sqlIdentifier) c JOIN \(key.parent.sqlIdentifier) p ON \(key.isMatch)
                    """, arguments: [key.number])
        }
        for key in keys where try db.hasTable(key.parent) {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO temp.snapsync_dangling SELECT ?, \(key.target), \(isHeld(key)) FROM \(key.child.sqlIdentifier) c
                    WHERE \(key.isDangling)
                    """, arguments: [key.number])
        }
    }

    /// Whether any foreign key leads from a table that is not synced to a dataset, or the other way round.
    package var isNeeded: Bool { !keys.isEmpty }

    /// Applies the declared actions for parents that are gone. Call it after the last insertion.
    ///
    /// - Throws: ``SyncError`` with `.foreignKeyViolated` if a key forbids a deletion.
    package func enforce() throws {
        let db = transaction.db
        var changed = !keys.isEmpty
        while changed {
            changed = false
            for key in keys where try db.hasTable(key.parent) {
                try apply(key, db)
                // Only a cascade can make further references dangle.
                if key.onDelete == "CASCADE", db.changesCount > 0, !datasets.contains(key.child.folded) { changed = true }
            }
        }
        for key in keys where try held[key.number] != nil && db.hasTable(key.parent) { try noteHeldParents(of: key, db) }
        if !keys.isEmpty { try db.execute(sql: "DROP TABLE IF EXISTS temp.snapsync_dangling; DROP TABLE IF EXISTS temp.snapsync_referred") }
    }

    private func isHeld(_ key: TableReference) -> String { held[key.number] ?? "FALSE" }

    private func apply(_ key: TableReference, _ db: Database) throws {
        let isNew = "\(key.isDangling) AND NOT EXISTS (SELECT 1 \(key.dangled) AND NOT d.isHeld)"
        if let schema = movable[key.number] {
            let parent = "FROM \(key.parent.sqlIdentifier) p WHERE \(schema.keySQL.matches("p", "(SELECT d.parent \(key.referred))"))"
            try apply(key.onUpdate, to: key, where: "\(isNew) AND EXISTS (SELECT 1 \(parent))", db) { "(SELECT p.\($0.parent.sqlIdentifier) \(parent))" }
        }
        let action = datasets.contains(key.child.folded) ? "NO ACTION" : key.onDelete
        try apply(action, to: key, where: "\(isNew) AND NOT \(isHeld(key))", db)
    }

    /// Says how many rows refer to a row that has just been held.
    private func noteHeldParents(of key: TableReference, _ db: Database) throws {
        let condition = "\(key.isDangling) AND NOT EXISTS (SELECT 1 \(key.dangled)) AND \(isHeld(key))"
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(key.child.sqlIdentifier) c WHERE \(condition)") ?? 0
        guard count > 0 else { return }
        transaction.triggerNotices.append(
            "\(key.child): \(Format.count(count, "row refers to a row", or: "rows refer to rows")) of \(key.parent) that \(Format.word(count, "is", or: "are")) held, and \(Format.word(count, "stays", or: "stay")) as \(Format.word(count, "it is", or: "they are")); snapsync conflicts \(transaction.path.shellWord) lists the rows that are held"
        )
    }

    /// Applies an action to the rows of a foreign key that a condition names.
    ///
    /// - Parameter value: for ON UPDATE, the new value of a parent's column; nil if the parent is gone.
    private func apply(
        _ action: String, to key: TableReference, where isNew: String, _ db: Database, value: (((child: String, parent: String)) -> String)? = nil
    ) throws {
        let child = key.child.sqlIdentifier
        func set(_ value: ((child: String, parent: String)) throws -> String) throws {
            let assignments = try key.columns.map { "\($0.child.sqlIdentifier) = \(try value($0))" }.joined(separator: ", ")
            try db.execute(sql: "UPDATE \(child) AS c SET \(assignments) WHERE \(isNew)")
        }
        switch action {
        case "CASCADE":
            if let value { try set(value) } else { try db.execute(sql: "DELETE FROM \(child) AS c WHERE \(isNew)") }
        case "SET NULL":
            try set { _ in "NULL" }
        case "SET DEFAULT":
            try set { try TableColumns(db, key.child)?.column($0.child)?.defaultText.map { "(\($0))" } ?? "NULL" }
            // The default may refer to a missing parent, too.
            try refuse(key, action, where: isNew, in: db)
        default:
            try refuse(key, action, where: isNew, in: db)
        }
    }

    private func refuse(_ key: TableReference, _ action: String, where isNew: String, in db: Database) throws {
        let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(key.child.sqlIdentifier) c WHERE \(isNew)") ?? 0
        if takesVersion, count > 0, datasets.contains(key.child.folded) {
            transaction.triggerNotices.append(
                "\(key.child): \(Format.count(count, "row refers to a row", or: "rows refer to rows")) of \(key.parent) that \(Format.word(count, "is", or: "are")) not there; \(key.parent) is not synced (snapsync check names the rows)"
            )
            return
        }
        guard count == 0 else {
            throw SyncError(
                database: .foreignKeyViolated, at: "\(transaction.path), table \(key.child)",
                "\(Format.count(count, "row")) would point at rows of \(key.parent) that are not there (\(action))",
                hint: datasets.contains(key.child.folded) && datasets.contains(key.parent.folded)
                    ? hint : "nothing was changed; remove or change those rows, or declare the key ON DELETE CASCADE or SET NULL")
        }
    }
}

extension TableReference {
    /// The reference of row `c` of the child table among those that led nowhere before the import.
    fileprivate var dangled: String { "FROM temp.snapsync_dangling d WHERE d.key = \(number) AND d.target = \(target)" }

    /// The reference of row `c` of the child table, with the key of the parent to which it led before the import.
    fileprivate var referred: String { "FROM temp.snapsync_referred d WHERE d.key = \(number) AND d.target = \(target)" }
}

extension ForeignKeyLookup {
    /// The datasets that have child datasets and from which something was deleted here, or changed if children refer to other columns than the key. An
    /// import may bring children that need the rows as they were.
    package func deletedParents(among schemas: [DatasetSchema]) throws -> Set<String> {
        let changed = try schemas.filter { try transaction.changeLog.hasChanges(of: $0) || transaction.changeLog.hasEntries([$0]) }
        guard !changed.isEmpty else { return [] }
        let tables = Set(schemas.map { $0.table.folded })
        let keys = try foreignKeys().filter { tables.contains($0.child.folded) }
        let losing = try changed.filter { schema in
            let references = keys.filter { $0.parent.folded == schema.table.folded }, keyColumns = Set(schema.keyColumns.map(\.column.folded))
            guard !references.isEmpty, let id = try trackingID(schema) else { return false }
            if references.contains(where: { !keyColumns.isSuperset(of: $0.columns.map(\.parent.folded)) }) { return true }
            let table = schema.table.sqlIdentifier, key = schema.keySQL
            return try Bool.fetchOne(
                db,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?1 AND state = \(TrackedState.deleted))
                        OR EXISTS (SELECT 1 FROM snapsync_log l WHERE dataset = ?1 AND NOT EXISTS (SELECT 1 FROM \(table) t WHERE \(key.matches("t", key.unlogged("l.key")))))
                    """, arguments: [id]) ?? false
        }
        return Set(losing.map(\.name))
    }
}
