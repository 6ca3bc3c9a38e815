import GRDB
package import LocalTables
package import SnapshotModel
import StrictText

/// The foreign keys between the datasets' tables.
package struct DatasetLinks {
    /// A foreign key from one dataset's table to another's, or to itself.
    package struct Link {
        /// The positions of the two datasets.
        package let child: Int
        package let parent: Int
        /// The positions of the child's columns that refer.
        package let columns: Set<Int>
        /// The positions of the parent's columns that are referred to.
        package let parentColumns: Set<Int>
        private let transaction: LocalTransaction
        private let key: TableReference
        private let schemas: (child: DatasetSchema, parent: DatasetSchema)

        init?(_ transaction: LocalTransaction, _ key: TableReference, among datasets: [DatasetSchema]) throws {
            guard let child = datasets.firstIndex(where: { $0.table.folded == key.child.folded }),
                let parent = datasets.firstIndex(where: { $0.table.folded == key.parent.folded })
            else { return nil }
            self.child = child
            self.parent = parent
            self.transaction = transaction
            self.key = key
            schemas = (datasets[child], datasets[parent])
            func positions(_ names: [String], in schema: DatasetSchema) throws -> Set<Int> {
                guard let table = try TableColumns(transaction.db, schema.table) else { return [] }
                let sources = try GeneratedColumns(transaction.db, table).sources(of: names)
                return Set(sources.compactMap { name in schema.columns.firstIndex { $0.column.folded == name.folded } })
            }
            columns = try positions(key.columns.map(\.child), in: schemas.child)
            parentColumns = try positions(key.columns.map(\.parent), in: schemas.parent)
        }

        /// Whether a row of the child's table refers to a row that is not there.
        package func isDangling(_ child: EntityKey) throws -> Bool { try transaction.references.isDangling(child, of: schemas.child, [key]) }

        /// The key of the parent that a row refers to; nil if it refers to other columns than the parent's key.
        ///
        /// - Parameter rows: where the row is; nil: in the child's table.
        package func parent(of child: EntityKey, in rows: StashedRows? = nil) throws -> EntityKey? {
            guard let value = parentKey else { return nil }
            let table = rows?.table ?? "main.\(schemas.child.table.sqlIdentifier)"
            return try KeyedStatement(
                transaction.db, "SELECT \(value) FROM \(table) c WHERE \(schemas.child.keySQL.matches("c", "?1"))"
            ).bind(.key(child)).keys().first
        }

        /// The keys of rows `c` that refer to a row that is not there.
        ///
        /// - Parameter children: what follows FROM.
        func dangling(among children: String) throws -> [EntityKey] {
            try KeyedStatement(transaction.db, "SELECT DISTINCT \(schemas.child.keySQL.value(of: "c")) FROM \(children) WHERE \(key.isDangling)").bind().keys()
        }

        /// The tracked deletions of parents to which rows refer.
        ///
        /// - Parameter id: the tracking number of the parent's dataset.
        func deletedParents(tracked id: Int64) throws -> [EntityKey] {
            // Without a deletion, do not read the children's table.
            let deleted = "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND state = \(TrackedState.deleted))"
            guard let parentKey, try KeyedStatement(transaction.db, deleted).bind(.integer(id)).integer() == 1 else { return [] }
            return try KeyedStatement(
                transaction.db,
                """
                SELECT DISTINCT x.key FROM main.\(schemas.child.table.sqlIdentifier) c
                CROSS JOIN main.snapsync_changes x ON x.dataset = ? AND x.state = \(TrackedState.deleted) AND x.key = \(parentKey)
                """
            ).bind(.integer(id)).keys()
        }

        /// Copies the parents of rows `c` into a stash. Returns whether there were any new ones.
        func copyParents(of children: String, into rows: StashedRows) throws -> Bool {
            let columns = rows.columnNames.map { "p.\($0)" }.joined(separator: ", ")
            try transaction.db.execute(
                sql:
                    "INSERT OR IGNORE INTO \(rows.table) SELECT \(columns) FROM \(children) CROSS JOIN main.\(schemas.parent.table.sqlIdentifier) p ON \(isMatch)"
            )
            return transaction.db.changesCount > 0
        }

        /// The key of the parent to which row `c` refers; nil if it refers to other columns than the parent's key.
        private var parentKey: String? { key.parentKey(in: schemas.parent) }

        /// The condition that row `c` refers to row `p`, which may be in a stash without collations.
        private var isMatch: String {
            key.columns.map { pair -> String in
                let described = schemas.parent.columns.first { $0.column.folded == pair.parent.folded }
                let collation = described.map { $0.collation == .binary ? "" : " COLLATE \($0.collation.rawValue.uppercased())" } ?? ""
                return "p.\(pair.parent.sqlIdentifier)\(collation) = c.\(pair.child.sqlIdentifier)"
            }.joined(separator: " AND ")
        }

        /// The rows of the child's table that refer to a row that is only in a stash, and to no other one.
        package func children(of parent: EntityKey, in rows: StashedRows) throws -> [EntityKey] {
            return try KeyedStatement(
                transaction.db,
                """
                SELECT \(schemas.child.keySQL.value(of: "c")) FROM \(rows.table) p CROSS JOIN main.\(schemas.child.table.sqlIdentifier) c ON \(isMatch)
                WHERE \(schemas.parent.keySQL.matches("p", "?1")) AND NOT EXISTS (SELECT 1 FROM main.\(schemas.parent.table.sqlIdentifier) o WHERE \(key.columns.map { "o.\($0.parent.sqlIdentifier) = c.\($0.child.sqlIdentifier)" }.joined(separator: " AND ")))
                """
            ).bind(.key(parent)).keys()
        }
    }

    /// For each dataset the keys of its own table.
    package let children: [[Link]]
    /// For each dataset the keys that lead to its table.
    package let parents: [[Link]]
    private let orphans: [Int?]

    package init(_ transaction: LocalTransaction, _ datasets: [DatasetSchema]) throws {
        let links = try transaction.references.foreignKeys().compactMap { try Link(transaction, $0, among: datasets) }
        children = datasets.indices.map { index in links.filter { $0.child == index } }
        parents = datasets.indices.map { index in links.filter { $0.parent == index } }
        orphans = try datasets.map { try transaction.rows.orphanColumn(of: $0) }
    }

    /// The position of the column that marks a row that stays for its children; nil if the dataset has none.
    package func orphanColumn(of dataset: Int) -> Int? { orphans[dataset] }
}
