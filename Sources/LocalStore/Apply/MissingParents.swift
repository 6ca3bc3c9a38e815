import GRDB
package import SnapshotModel

extension LocalTransaction {
    /// Says that an entity came back because others need it, where its dataset has a column for that.
    package func markAsOrphan(_ key: EntityKey, of schema: DatasetSchema) throws {
        guard let orphan = schema.columns.first(where: { $0.name == "isOrphan" && $0.kind == .boolean }) else { return }
        try KeyedStatement(db, "UPDATE main.\(schema.table.sqlIdentifier) SET \(orphan.column.sqlIdentifier) = 1 WHERE \(schema.key.column.sqlIdentifier) = ?").bind(.key(key)).run()
    }

    /// Whether a row refers to an entity of a dataset that is not there.
    package func isDangling(_ key: EntityKey, of schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> Bool {
        let parents = Set(schemas.map { $0.table.asciiLowercased })
        return try isDangling(
            key, of: schema, foreignKeys().filter { $0.child.asciiLowercased == schema.table.asciiLowercased && parents.contains($0.parent.asciiLowercased) })
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
        let parents = Set(try foreignKeys().filter { tables.contains($0.child.asciiLowercased) }.map { $0.parent.asciiLowercased })
        return Set(losing.filter { parents.contains($0.table.asciiLowercased) }.map(\.name))
    }
}
