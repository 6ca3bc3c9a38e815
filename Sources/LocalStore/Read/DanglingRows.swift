import GRDB
package import SnapshotModel

/// The rows of one foreign key of a synced table that refer to rows that are not there.
package struct DanglingRows: Sendable {
    /// One of them.
    package struct Row: Sendable {
        /// The row's key as people read it; `NULL` for a row without one.
        package let key: String
        /// What the row refers to, as SQL writes it; of several columns with commas between them.
        package let parentKey: String
        /// Whether this device keeps the parent in `snapsync_set_aside`: then an import has left the row without it.
        package let isSetAside: Bool
    }

    package let table: String
    package let parentTable: String
    package let count: Int
    /// Those whose parents are set aside first, then the others, each in the order in which SQLite finds them; no more than asked for.
    package let rows: [Row]
}

extension LocalTransaction {
    /// Looks through the synced tables for rows that refer to rows that are not there. Reads every row of a table with foreign keys.
    ///
    /// - Parameter limit: at most so many rows of each foreign key are named.
    package func danglingRows(of schemas: [DatasetSchema], limit: Int) throws -> [DanglingRows] {
        let isAnySetAside = try setAside.hasReturnable()
        var found: [DanglingRows] = []
        for link in try foreignKeys() {
            guard let schema = schemas.first(where: { $0.table.asciiLowercased == link.child.asciiLowercased }) else { continue }
            // To SQLite a table that is missing holds no rows.
            let condition = try db.hasTable(link.parent) ? link.isDangling : link.isSet
            let rows = try KeyedStatement(db, "SELECT c.\(schema.key.column.sqlIdentifier), \(link.target) FROM main.\(link.child.sqlIdentifier) c WHERE \(condition)").bind()
            var count = 0
            var (ours, others): ([DanglingRows.Row], [DanglingRows.Row]) = ([], [])
            while try rows.step() {
                count += 1
                let key = rows.key(0)
                let parentKey = rows.text(1).map { String(decoding: $0, as: UTF8.self) } ?? ""
                let isSetAside = try isAnySetAside && key.map { try !setAside.parents(of: $0, in: schema, among: schemas).isEmpty } == true
                let row = DanglingRows.Row(key: key?.description ?? "NULL", parentKey: parentKey, isSetAside: isSetAside)
                if isSetAside, ours.count < limit { ours.append(row) } else if !isSetAside, others.count < limit { others.append(row) }
            }
            if count > 0 { found.append(DanglingRows(table: link.child, parentTable: link.parent, count: count, rows: Array((ours + others).prefix(limit)))) }
        }
        return found
    }
}
