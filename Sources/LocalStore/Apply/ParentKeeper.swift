import GRDB
package import SnapshotModel
package import StrictText

/// Sees that a version does not take the parents away from children that stay because they were changed here.
///
/// Keys between two datasets are meant; ``ForeignKeyKeeper`` sees to those of an application's own tables. A parent that is
/// gone is revived: its last known row comes back, its `isOrphan` true where it has such a column, as a tracked change. A
/// child whose parent is not known is set aside. What dangled before dangles on, and what dangles in the version itself is
/// the version's own matter. Costs nothing where nothing is tracked.
package struct ParentKeeper {
    /// What was done.
    package struct Outcome {
        /// The parents that came back.
        package fileprivate(set) var revived: [(schema: DatasetSchema, key: EntityKey)] = []
        /// The children that were set aside; the version's entities of these keys have to take their places.
        package fileprivate(set) var setAside: [(schema: DatasetSchema, key: EntityKey)] = []
    }

    private struct Link {
        let key: ForeignKey
        let child: DatasetSchema
        let parent: DatasetSchema
        let childID: Int64
        let parentID: Int64
        /// The temporary table of the parents' last known rows.
        let stash: String
        /// The parents' columns that can be written.
        let columns: String

        /// Of the child's row named `c` and a row named `p` of the stash or of the parent's table.
        var isMatch: String { key.columns.map { "p.\($0.parent.sqlIdentifier) = c.\($0.child.sqlIdentifier)" }.joined(separator: " AND ") }
    }

    private let transaction: LocalTransaction
    private let links: [Link]
    private var db: Database { transaction.db }

    /// Keeps the parents' last known rows. Call before the first deletion, in the import's transaction, with all notes folded.
    package init(_ transaction: LocalTransaction, datasets schemas: [DatasetSchema]) throws {
        self.transaction = transaction
        let db = transaction.db
        guard try schemas.contains(where: { try transaction.hasTrackedChanges(of: $0) }) else {
            links = []
            return
        }
        var found: [Link] = []
        for key in try ForeignKey.all(db) {
            guard let child = schemas.first(where: { $0.table.asciiLowercased == key.child.asciiLowercased }), let childID = try transaction.trackingID(child),
                let index = schemas.firstIndex(where: { $0.table.asciiLowercased == key.parent.asciiLowercased }), let parentID = try transaction.trackingID(schemas[index])
            else { continue }
            let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [key.parent])
            found.append(
                Link(
                    key: key, child: child, parent: schemas[index], childID: childID, parentID: parentID, stash: "temp.snapsync_parents_\(index)",
                    columns: columns.map(\.sqlIdentifier).joined(separator: ", ")))
        }
        links = found
        try stash()
    }

    private func stash() throws {
        guard !links.isEmpty else { return }
        try db.execute(sql: """
            DROP TABLE IF EXISTS temp.snapsync_orphans;
            CREATE TEMP TABLE snapsync_orphans(link INTEGER, target TEXT, PRIMARY KEY(link, target)) WITHOUT ROWID;
            """)
        for link in links {
            try db.execute(sql: """
                DROP TABLE IF EXISTS \(link.stash);
                CREATE TEMP TABLE \(link.stash.dropFirst(5)) AS SELECT \(link.columns) FROM main.\(link.parent.table.sqlIdentifier) WHERE 0;
                CREATE UNIQUE INDEX \(link.stash)_key ON \(link.stash.dropFirst(5))(\(link.parent.key.column.sqlIdentifier));
                """)
        }
        for (number, link) in links.enumerated() {
            try takeParents(of: changedChildren(link), link)
            try db.execute(
                sql: "INSERT OR IGNORE INTO temp.snapsync_orphans SELECT ?, \(link.key.target) FROM \(changedChildren(link)) WHERE \(link.key.isDangling)", arguments: [number])
            if try hasDeletions(link) {
                try db.execute(
                    sql: "INSERT OR IGNORE INTO temp.snapsync_orphans SELECT ?, \(link.key.target) FROM \(childrenOfDeleted(link)) WHERE \(link.key.isDangling)", arguments: [number])
            }
        }
        // Parents may be children themselves.
        var grew = true
        while grew {
            grew = false
            for link in links {
                for above in links where above.parent.table == link.child.table {
                    grew = try takeParents(of: "\(above.stash) c", link) || grew
                }
            }
        }
    }

    /// Brings parents back, or sets children aside. Call after the last insertion and before ``ForeignKeyKeeper/settle()``.
    package func settle(now: Instant, setAside: (DisplacedRow) throws -> Void) throws -> Outcome {
        var outcome = Outcome()
        var changed = !links.isEmpty
        while changed {
            changed = false
            for (number, link) in links.enumerated() {
                for child in try orphans(of: changedChildren(link), link, number) where try isOrphan(child, link) {
                    changed = true
                    if let parent = try revive(child, link, now) {
                        outcome.revived.append((link.parent, parent))
                    } else {
                        try take(child, link, setAside)
                        outcome.setAside.append((link.child, child))
                    }
                }
                if try hasDeletions(link) {
                    // The version's own children of a parent that was deleted here: the deletion is given up.
                    for child in try orphans(of: childrenOfDeleted(link), link, number) where try isOrphan(child, link) {
                        guard let parent = try revive(child, link, now) else { continue }
                        changed = true
                        outcome.revived.append((link.parent, parent))
                    }
                }
            }
        }
        for link in links { try db.execute(sql: "DROP TABLE IF EXISTS \(link.stash)") }
        if !links.isEmpty { try db.execute(sql: "DROP TABLE IF EXISTS temp.snapsync_orphans") }
        return outcome
    }

    /// Notes the row of a parent that the version has and a deletion made here takes out.
    package func keepLastRow(_ key: EntityKey, of schema: DatasetSchema, _ give: (any EntitySink) throws -> Void) throws {
        guard let link = links.first(where: { $0.parent.table == schema.table }), try !hasStashed(key, link) else { return }
        let name = String(link.stash.dropFirst(5))
        try give(try EntityApplier(transaction, try schema.inTable(name)))
    }

    /// Whether last rows of a dataset's entities are wanted (``keepLastRow(_:of:_:)``).
    package func wantsLastRows(of schema: DatasetSchema) -> Bool { links.contains { $0.parent.table == schema.table } }

    private func hasStashed(_ key: EntityKey, _ link: Link) throws -> Bool {
        try KeyedStatement(db, "SELECT 1 FROM \(link.stash) WHERE \(link.parent.key.column.sqlIdentifier) = ?").bind(.key(key)).integer() != nil
    }

    private func changedChildren(_ link: Link) -> String {
        let child = link.child.table.sqlIdentifier, key = link.child.key.column.sqlIdentifier
        return "main.snapsync_changes x CROSS JOIN main.\(child) c ON x.dataset = \(link.childID) AND x.state < 2 AND c.\(key) = x.key"
    }

    private func childrenOfDeleted(_ link: Link) -> String {
        let column = link.key.columns[0].child.sqlIdentifier
        return "main.\(link.child.table.sqlIdentifier) c CROSS JOIN main.snapsync_changes x ON x.dataset = \(link.parentID) AND x.state = 2 AND x.key = c.\(column)"
    }

    /// Whether parents were deleted here that children refer to by their key.
    private func hasDeletions(_ link: Link) throws -> Bool {
        guard link.key.columns.count == 1, link.key.columns[0].parent.asciiLowercased == link.parent.key.column.asciiLowercased else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND state = 2)", arguments: [link.parentID]) ?? false
    }

    @discardableResult
    private func takeParents(of children: String, _ link: Link) throws -> Bool {
        let columns = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", arguments: [link.parent.table])
            .map { "p.\($0.sqlIdentifier)" }.joined(separator: ", ")
        try db.execute(sql: "INSERT OR IGNORE INTO \(link.stash) SELECT \(columns) FROM \(children) CROSS JOIN main.\(link.parent.table.sqlIdentifier) p ON \(link.isMatch)")
        return db.changesCount > 0
    }

    private func orphans(of children: String, _ link: Link, _ number: Int) throws -> [EntityKey] {
        let isNew = "\(link.key.isDangling) AND NOT EXISTS (SELECT 1 FROM temp.snapsync_orphans o WHERE o.link = \(number) AND o.target = \(link.key.target))"
        return try KeyedStatement(db, "SELECT DISTINCT c.\(link.child.key.column.sqlIdentifier) FROM \(children) WHERE \(isNew)").bind().keys()
    }

    /// Whether the child's parent is still missing: another child may have brought it back meanwhile.
    private func isOrphan(_ child: EntityKey, _ link: Link) throws -> Bool { try transaction.isDangling(child, of: link.child, [link.key]) }

    /// Puts the last known row of a child's parent in again; nil if there is none, or it cannot be there.
    private func revive(_ child: EntityKey, _ link: Link, _ now: Instant) throws -> EntityKey? {
        let parents = try KeyedStatement(db, """
            SELECT p.\(link.parent.key.column.sqlIdentifier) FROM main.\(link.child.table.sqlIdentifier) c CROSS JOIN \(link.stash) p ON \(link.isMatch)
            WHERE c.\(link.child.key.column.sqlIdentifier) = ?
            """).bind(.key(child)).keys()
        guard let parent = parents.first else { return nil }
        // It may be there with another value than the one that the child refers to.
        guard try !transaction.hasRow(parent, of: link.parent) else { return nil }
        let isBack = try transaction.attempting {
            try KeyedStatement(
                db, "INSERT INTO main.\(link.parent.table.sqlIdentifier)(\(link.columns)) SELECT \(link.columns) FROM \(link.stash) WHERE \(link.parent.key.column.sqlIdentifier) = ?"
            ).bind(.key(parent)).run()
            if let orphan = link.parent.columns.first(where: { $0.name == "isOrphan" && $0.kind == .boolean }) {
                try KeyedStatement(
                    db, "UPDATE main.\(link.parent.table.sqlIdentifier) SET \(orphan.column.sqlIdentifier) = 1 WHERE \(link.parent.key.column.sqlIdentifier) = ?"
                ).bind(.key(parent)).run()
            }
            return true
        }
        guard isBack else { return nil }
        let before = [try transaction.trackedChange(of: parent, in: link.parent)?.instant, try transaction.tombstone(of: parent, in: link.parent)]
        // It takes the deletion back and says nothing else: an edit that was made after the deletion, where nobody knows of this yet, is later.
        let deleted = before.compactMap { $0 }.max()
        try transaction.trackChange(of: parent, in: link.parent, at: deleted?.advanced(byMicroseconds: 1) ?? now)
        return parent
    }

    private func take(_ child: EntityKey, _ link: Link, _ setAside: (DisplacedRow) throws -> Void) throws {
        let (transaction, schema) = (transaction, link.child)
        let instant = try transaction.instant(of: child, in: schema) ?? .distantPast
        try setAside(DisplacedRow(schema: schema, key: child, reason: .parentMissing, instant: instant, displacedAt: nil) { try transaction.giveRow(child, of: schema, to: $0) })
        _ = try transaction.deleteEntity(child, of: schema)
        try transaction.forgetChange(of: child, in: schema)
    }
}

extension LocalTransaction {
    /// Whether a row refers to an entity of a dataset that is not there.
    package func isDangling(_ key: EntityKey, of schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> Bool {
        let parents = Set(schemas.map { $0.table.asciiLowercased })
        return try isDangling(
            key, of: schema, ForeignKey.all(db).filter { $0.child.asciiLowercased == schema.table.asciiLowercased && parents.contains($0.parent.asciiLowercased) })
    }

    func isDangling(_ key: EntityKey, of schema: DatasetSchema, _ links: [ForeignKey]) throws -> Bool {
        try links.contains { link in
            try KeyedStatement(db, "SELECT 1 FROM \(schema.table.sqlIdentifier) c WHERE c.\(schema.key.column.sqlIdentifier) = ? AND \(link.isDangling)").bind(.key(key)).integer() != nil
        }
    }

    /// The datasets that others refer to and from which something was deleted here: what comes may need it.
    package func deletedParents(among schemas: [DatasetSchema]) throws -> Set<String> {
        let losing = try schemas.filter { schema in
            guard let id = try trackingID(schema) else { return false }
            let table = schema.table.sqlIdentifier, key = schema.key.column.sqlIdentifier
            return try Bool.fetchOne(
                db, sql: """
                    SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?1 AND state = 2)
                        OR EXISTS (SELECT 1 FROM snapsync_log l WHERE dataset = ?1 AND NOT EXISTS (SELECT 1 FROM \(table) t WHERE t.\(key) = l.key))
                    """, arguments: [id]) ?? false
        }
        guard !losing.isEmpty else { return [] }
        let tables = Set(schemas.map { $0.table.asciiLowercased })
        let parents = Set(try ForeignKey.all(db).filter { tables.contains($0.child.asciiLowercased) }.map { $0.parent.asciiLowercased })
        return Set(losing.filter { parents.contains($0.table.asciiLowercased) }.map(\.name))
    }
}
