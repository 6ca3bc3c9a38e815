import GRDB
package import SnapshotModel
import StrictText

extension SetAsideTable {
    /// The parents that a row refers to, that are missing from their tables, and that are set aside here.
    package func parents(of key: EntityKey, in schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> [(schema: DatasetSchema, key: EntityKey)] {
        var found: [(schema: DatasetSchema, key: EntityKey)] = []
        for link in try transaction.references.foreignKeys() where link.child.folded == schema.table.folded {
            guard let parent = schemas.first(where: { $0.table.folded == link.parent.folded }) else { continue }
            var conditions: [String] = []
            for column in link.columns {
                guard let described = parent.columns.first(where: { $0.column.folded == column.parent.folded }) else { continue }
                // A reference to the dataset's key compares with the stored key; a reference to another value needs the entity's JSON.
                let part = parent.keyColumns.firstIndex(of: described)
                let value =
                    part.map { "snapsync_key_value(s.key, \($0))" }
                    ?? "json_extract(s.entity, \("$.\"\(described.name)\"".sqlText))"
                // The stored key's text is folded, so compare by the collation of the parent's column.
                let collation = described.collation == .binary ? "" : " COLLATE \(described.collation.rawValue)"
                conditions.append("\(value)\(collation) = c.\(column.child.sqlIdentifier)")
            }
            guard conditions.count == link.columns.count, try transaction.references.isDangling(key, of: schema, [link]) else { continue }
            let keys = try KeyedStatement(
                db,
                """
                SELECT s.key FROM main.\(schema.table.sqlIdentifier) c CROSS JOIN snapsync_set_aside s ON s.dataset = ?1 AND \(conditions.joined(separator: " AND "))
                WHERE \(schema.keySQL.matches("c", "?2")) ORDER BY s.key
                """
            ).bind(.text(parent.name), .key(key)).keys()
            found += keys.map { (parent, $0) }
        }
        return found
    }

    /// Whether children that wait for a parent are set aside, in any dataset that refers to this one.
    package func hasWaitingChildren(of schema: DatasetSchema, among schemas: [DatasetSchema]) throws -> Bool {
        let tables = Set(
            try transaction.references.foreignKeys().filter { $0.parent.folded == schema.table.folded }.map { $0.child.folded })
        return try schemas.contains { child in
            guard tables.contains(child.table.folded) else { return false }
            return try entities(of: child).contains { $0.reason == .parentMissing }
        }
    }
}
