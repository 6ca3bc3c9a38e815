import GRDB
package import SnapshotModel
package import StrictText

/// Prevents a version from taking the parents away from children that stay because they were changed here.
///
/// It handles foreign keys between two datasets; ``ForeignKeyEnforcer`` handles those of an application's own tables. It revives a missing
/// parent: it inserts the parent's last known row again as a tracked change, with `isOrphan` true if it has such a column. If the parent cannot
/// be revived, because it is not known or lost a UNIQUE value, it sets the child aside. References that dangled before stay as they are, and so
/// do those that dangle in the version itself. The rule is the table in docs/sync.md, "Needed parents". Does nothing if nothing is tracked or set
/// aside.
package struct OrphanResolver {
    /// What the resolver did.
    package struct Outcome {
        /// The revived parents.
        package fileprivate(set) var revived: [(schema: DatasetSchema, key: EntityKey)] = []
        /// The children that were changed here and set aside, with their instants and whether the version has their keys (nil: not known). The
        /// import must write the version's entities of these keys instead.
        package fileprivate(set) var setAside: [(schema: DatasetSchema, key: EntityKey, instant: Instant, isInVersion: Bool?)] = []
        /// Whether anything changed.
        package fileprivate(set) var hasChanged = false
    }

    private struct Link {
        let key: ForeignKey
        let child: DatasetSchema
        let parent: DatasetSchema
        let childID: Int64
        let parentID: Int64
        /// The parents' last known rows.
        let rows: StashedRows

        var stash: String { rows.table }
        /// The key of the parent that the child's row named `c` refers to; nil if the children refer to other columns than the dataset's key.
        var parentKey: String? {
            let columns = parent.keyColumns.compactMap { part in key.columns.first { $0.parent.folded == part.column.folded } }
            guard columns.count == parent.keyColumns.count, columns.count == key.columns.count else { return nil }
            return parent.keySQL.value(of: columns.map { "c.\($0.child.sqlIdentifier)" })
        }

        /// The values by which row `c` of the child table refers to its parent, as one text. Values that are one key in the parent's table give
        /// the same text.
        var target: String { parentKey.map { "quote(\($0))" } ?? key.target }

        /// The condition that row `c` of the child table refers to row `p`, either of the stash, which has no collations, or of the parent's
        /// table.
        var isMatch: String {
            key.columns.map { pair in
                let described = parent.columns.first { $0.column.folded == pair.parent.folded }
                let collation = described.map { $0.collation == .binary ? "" : " COLLATE \($0.collation.rawValue.uppercased())" } ?? ""
                return "p.\(pair.parent.sqlIdentifier)\(collation) = c.\(pair.child.sqlIdentifier)"
            }.joined(separator: " AND ")
        }
    }

    private let transaction: LocalTransaction
    private let links: [Link]
    /// Whether the changes made here are published. If not, the version's rows win.
    private let publishes: Bool
    private var db: Database { transaction.db }

    /// Stashes the parents' last known rows. Call it before the first deletion, in the import's transaction, with the log consolidated.
    package init(_ transaction: LocalTransaction, datasets schemas: [DatasetSchema], publishes: Bool) throws {
        self.transaction = transaction
        self.publishes = publishes
        guard try transaction.setAside.hasReturnable() || schemas.contains(where: { try transaction.changeLog.hasChanges(of: $0) }) else {
            links = []
            return
        }
        var found: [Link] = []
        var stashes: [Int: StashedRows] = [:]
        for key in try transaction.references.foreignKeys() {
            guard let child = schemas.first(where: { $0.table.folded == key.child.folded }),
                let childID = try transaction.tracking.id(of: child),
                let index = schemas.firstIndex(where: { $0.table.folded == key.parent.folded }),
                let parentID = try transaction.tracking.id(of: schemas[index])
            else { continue }
            let rows = try stashes[index] ?? StashedRows(transaction, schemas[index], table: "snapsync_parents_\(index)")
            if stashes.updateValue(rows, forKey: index) == nil { try rows.create() }
            found.append(Link(key: key, child: child, parent: schemas[index], childID: childID, parentID: parentID, rows: rows))
        }
        links = found
        try stash()
    }

    private func stash() throws {
        guard !links.isEmpty else { return }
        try db.execute(
            sql: """
                DROP TABLE IF EXISTS temp.snapsync_orphans;
                CREATE TEMP TABLE snapsync_orphans(link INTEGER, target TEXT, PRIMARY KEY(link, target)) WITHOUT ROWID;
                """)
        for (number, link) in links.enumerated() {
            try takeParents(of: changedChildren(link), link)
            try db.execute(
                sql: "INSERT OR IGNORE INTO temp.snapsync_orphans SELECT ?, \(link.target) FROM \(changedChildren(link)) WHERE \(link.key.isDangling)",
                arguments: [number])
            if try hasDeletions(link) {
                try db.execute(
                    sql:
                        "INSERT OR IGNORE INTO temp.snapsync_orphans SELECT ?, \(link.target) FROM \(childrenOfChanged(link)) WHERE \(link.key.isDangling)",
                    arguments: [number])
            }
        }
        // Parents may be children of other parents.
        var grew = true
        while grew {
            grew = false
            for link in links {
                for above in links where above.parent.table.exact == link.child.table.exact {
                    grew = try takeParents(of: "\(above.stash) c", link) || grew
                }
            }
        }
    }

    /// Revives parents or sets children aside. Call it after the last insertion and before ``ForeignKeyEnforcer/enforce()``, and again after
    /// other rows were deleted or inserted.
    package func resolve(now: Instant, setAside: (DisplacedRow) throws -> Void) throws -> Outcome {
        var outcome = Outcome()
        var changed = !links.isEmpty
        while changed {
            changed = false
            for (number, link) in links.enumerated() {
                var children = try orphans(of: changedChildren(link), link, number)
                // The version's own children of a parent that was deleted, displaced or given another key here.
                if try hasDeletions(link) { children += try orphans(of: childrenOfChanged(link), link, number) }
                for child in children where try isOrphan(child, link) {
                    changed = true
                    if let revived = try revive(child, link, now, setAside) {
                        outcome.revived.append((link.parent, revived.parent))
                        outcome.setAside += revived.displaced.map { (link.parent, $0.key, $0.instant, $0.isInVersion) }
                    } else if let change = try take(child, link, setAside) {
                        outcome.setAside.append((link.child, child, change.instant, change.isInVersion))
                    }
                }
            }
            outcome.hasChanged = outcome.hasChanged || changed
        }
        return outcome
    }

    /// Drops the temporary tables.
    package func end() throws {
        for link in links { try link.rows.drop() }
        if !links.isEmpty { try db.execute(sql: "DROP TABLE IF EXISTS temp.snapsync_orphans") }
    }

    /// Stashes the version's row of a parent that a deletion made here removes.
    package func keepLastRow(_ key: EntityKey, of schema: DatasetSchema, _ give: (any EntitySink) throws -> Void) throws {
        guard let link = links.first(where: { $0.parent.table.exact == schema.table.exact }), try !hasStashed(key, link) else { return }
        try link.rows.take(key, give)
    }

    /// Whether the resolver needs the last rows of a dataset's entities (``keepLastRow(_:of:_:)``).
    package func wantsLastRows(of schema: DatasetSchema) -> Bool { links.contains { $0.parent.table.exact == schema.table.exact } }

    private func hasStashed(_ key: EntityKey, _ link: Link) throws -> Bool {
        try KeyedStatement(db, "SELECT 1 FROM \(link.stash) WHERE \(link.parent.keySQL.matches(nil, "?1"))").bind(.key(key)).integer() != nil
    }

    private func changedChildren(_ link: Link) -> String {
        let child = link.child.table.sqlIdentifier, key = link.child.keySQL
        return
            "main.snapsync_changes x CROSS JOIN main.\(child) c ON x.dataset = \(link.childID) AND x.state < \(TrackedState.deleted) AND \(key.matches("c", "x.key"))"
    }

    /// The children whose parents may have gone because of a change made here. If they refer to the dataset's key, the tracked deletions lead to
    /// them. If they refer to another value, an edit of the parent may have removed that value, so all children are checked.
    private func childrenOfChanged(_ link: Link) -> String {
        let child = "main.\(link.child.table.sqlIdentifier) c"
        guard let parentKey = link.parentKey else { return child }
        return
            "\(child) CROSS JOIN main.snapsync_changes x ON x.dataset = \(link.parentID) AND x.state = \(TrackedState.deleted) AND x.key = \(parentKey)"
    }

    /// Whether a change made here may have removed a parent of the version's children.
    private func hasDeletions(_ link: Link) throws -> Bool {
        let condition = link.parentKey != nil ? " AND state = \(TrackedState.deleted)" : ""
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?\(condition))", arguments: [link.parentID]) ?? false
    }

    @discardableResult
    private func takeParents(of children: String, _ link: Link) throws -> Bool {
        let columns = link.rows.columnNames.map { "p.\($0)" }.joined(separator: ", ")
        try db.execute(
            sql:
                "INSERT OR IGNORE INTO \(link.stash) SELECT \(columns) FROM \(children) CROSS JOIN main.\(link.parent.table.sqlIdentifier) p ON \(link.isMatch)"
        )
        return db.changesCount > 0
    }

    private func orphans(of children: String, _ link: Link, _ number: Int) throws -> [EntityKey] {
        let isNew = "\(link.key.isDangling) AND NOT EXISTS (SELECT 1 FROM temp.snapsync_orphans o WHERE o.link = \(number) AND o.target = \(link.target))"
        return try KeyedStatement(db, "SELECT DISTINCT \(link.child.keySQL.value(of: "c")) FROM \(children) WHERE \(isNew)").bind().keys()
    }

    /// Whether the child's parent is still missing. It may have been revived for another child.
    private func isOrphan(_ child: EntityKey, _ link: Link) throws -> Bool { try transaction.references.isDangling(child, of: link.child, [link.key]) }

    /// Inserts the last known row of a child's parent again; nil if there is none, or if it cannot be inserted. Returns the changes made here whose
    /// rows gave way to it, too: the import must then write the version's entities instead.
    private func revive(_ child: EntityKey, _ link: Link, _ now: Instant, _ setAside: (DisplacedRow) throws -> Void) throws -> (
        parent: EntityKey, displaced: [TrackedChange]
    )? {
        let parents = try KeyedStatement(
            db,
            """
            SELECT \(link.parent.keySQL.value(of: "p")) FROM main.\(link.child.table.sqlIdentifier) c CROSS JOIN \(link.stash) p ON \(link.isMatch)
            WHERE \(link.child.keySQL.matches("c", "?1"))
            """
        ).bind(.key(child)).keys()
        guard let parent = parents.first else { return nil }
        // The parent may exist with another value than the child refers to, or it may be set aside.
        guard try !transaction.rows.hasRow(parent, of: link.parent), try !transaction.setAside.isReturnable(parent, of: link.parent) else { return nil }
        let own = try transaction.changeLog.change(of: parent, in: link.parent)
        let published = try transaction.tombstonesAndInstants.tombstone(of: parent, in: link.parent)
        let deleted = [own?.instant, published].compactMap(\.self).max()
        let displaced = try link.rows.insert(parent, isWhole: true) ? [] : displaceOwnRows(holding: parent, link, setAside)
        guard let displaced else {
            let (transaction, stashed) = (transaction, link.rows.stashed)
            try setAside(
                DisplacedRow(schema: link.parent, key: parent, reason: .parentNeeded, instant: (deleted ?? now).forTombstone, displacedAt: deleted) {
                    try transaction.rows.giveRow(parent, of: stashed, to: $0)
                })
            return nil
        }
        if !publishes, let own, own.isDeletion, published == nil {
            try endDeletion(own, of: link.parent)
            return (parent, displaced)
        }
        try transaction.rows.markAsOrphan(parent, of: link.parent)
        // The change only reverts the deletion. It is 1 us later than the deletion, so that an edit made after the deletion on a device that does
        // not know of the revival is later. If the deletion was made here, the change continues it and keeps its base. So if the change wins over
        // another device's edit, that edit counts as one that this device had not seen.
        let instant = deleted?.advanced(byMicroseconds: 1) ?? now
        try transaction.changeLog.track(of: parent, in: link.parent, at: instant, joining: .continuing(base: instant))
        // The version lacks the parent. If a later version has it, another device made that row.
        if own == nil, published != nil { try transaction.merge.outlive(of: parent, in: link.parent, isNew: true) }
        return (parent, displaced)
    }

    /// At a reader that deleted a parent that the version has: the row that is back is the version's, so nothing is tracked any more.
    private func endDeletion(_ deletion: TrackedChange, of schema: DatasetSchema) throws {
        let known = transaction.tombstonesAndInstants
        if try known.appliedInstant(of: deletion.key, in: schema) == nil, let seen = deletion.base, seen != .distantPast,
            try transaction.rows.ownInstant(of: deletion.key, in: schema) != seen
        {
            try known.setPresent(deletion.key, at: seen, in: schema)
        }
        try transaction.changeLog.forget(of: deletion.key, in: schema)
    }

    /// At a reader, sets aside its own rows that hold a UNIQUE value of a parent that the version's children need, and inserts the parent. Returns
    /// the rows' changes; nil if the rows are not all its own.
    private func displaceOwnRows(holding parent: EntityKey, _ link: Link, _ setAside: (DisplacedRow) throws -> Void) throws -> [TrackedChange]? {
        guard !publishes else { return nil }
        let (transaction, schema) = (transaction, link.parent)
        let rivals = try link.rows.rivals(of: parent, isWhole: true)
        let changes = try rivals.compactMap { try transaction.changeLog.change(of: $0, in: schema) }
        guard !rivals.isEmpty, changes.count == rivals.count, changes.allSatisfy({ $0.isInVersion != true }) else { return nil }
        for change in changes {
            try setAside(
                DisplacedRow(schema: schema, key: change.key, reason: .valueTaken, instant: change.instant, displacedAt: nil) {
                    try transaction.rows.giveRow(change.key, of: schema, to: $0)
                })
            _ = try transaction.rows.deleteEntity(change.key, of: schema)
            try transaction.changeLog.forget(of: change.key, in: schema)
        }
        return try link.rows.insert(parent, isWhole: true) ? changes : nil
    }

    /// Sets a child aside. Returns its tracked change if it was changed here; the import must then write the version's entity instead.
    private func take(_ child: EntityKey, _ link: Link, _ setAside: (DisplacedRow) throws -> Void) throws -> TrackedChange? {
        let (transaction, schema) = (transaction, link.child)
        let change = try transaction.changeLog.change(of: child, in: schema)
        let instant = try transaction.changeLog.instant(of: child, in: schema) ?? .distantPast
        let displacedAt = change == nil ? instant.forTombstone : nil
        try setAside(
            DisplacedRow(schema: schema, key: child, reason: .parentMissing, instant: displacedAt ?? instant, displacedAt: displacedAt) {
                try transaction.rows.giveRow(child, of: schema, to: $0)
            })
        if change == nil {
            try transaction.merge.displaceRow(child, of: schema, at: instant)
        } else {
            _ = try transaction.rows.deleteEntity(child, of: schema)
            try transaction.changeLog.forget(of: child, in: schema)
        }
        return change
    }
}
