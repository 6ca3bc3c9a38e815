import GRDB
package import SnapshotModel
import StrictText

/// Reads one project and its items from the tables that the caller names, in one transaction.
///
///     let draft = try database.read { try $0.rows.project("7", from: ProjectTables()) }
struct ProjectReader {
    let db: Database
    let path: String
    let tables: ProjectTables

    func read(_ id: String) throws -> ProjectDraft {
        let projects = try Columns(.project, of: tables.projects, in: self)
        let items = try Columns(.item, of: tables.items, in: self)
        let link = try link(from: items, to: projects)
        let parent = try column(link.parent, of: tables.projects), isProject = "p.\(projects[.projectID].sqlIdentifier) = ?"
        guard let row = try Row.fetchOne(db, sql: "SELECT * FROM \(tables.projects.sqlIdentifier) p WHERE \(isProject)", arguments: [id]) else {
            throw LocalStoreError(
                .notFound, at: place(tables.projects), "there is no project of that id",
                hint: "check the id, and which column holds it: --column project.id=COLUMN")
        }
        let order = ((items.found[.itemPosition].map { [$0] } ?? []) + [items[.itemID]]).map { "i.\($0.sqlIdentifier)" }.joined(separator: ", ")
        // As in a foreign key, the parent's collation counts: of two columns, SQLite takes the left one's.
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT i.* FROM \(tables.projects.sqlIdentifier) p JOIN \(tables.items.sqlIdentifier) i
                ON p.\(parent.sqlIdentifier) = i.\(link.child.sqlIdentifier) WHERE \(isProject) ORDER BY \(order)
                """, arguments: [id])
        return ProjectDraft(
            id: try text(row, projects, .projectID), title: try text(row, projects, .projectTitle), detail: try text(row, projects, .projectDetail),
            isClosed: try flag(row, projects, .projectClosed),
            items: try rows.map { row in
                SharedItem(
                    id: try text(row, items, .itemID), title: try text(row, items, .itemTitle), detail: try text(row, items, .itemDetail),
                    isCompleted: try flag(row, items, .itemCompleted))
            })
    }

    /// The items' column that refers to a project, and the projects' column that it refers to.
    private func link(from items: Columns, to projects: Columns) throws -> (child: String, parent: String?) {
        let keys = try Row.fetchAll(
            db,
            sql: "SELECT \"from\", \"to\" FROM pragma_foreign_key_list(?) WHERE \"table\" = ? COLLATE NOCASE GROUP BY id HAVING count(*) = 1",
            arguments: [tables.items, tables.projects])
        if let child = items.found[.itemProject] {
            let key = keys.first { ($0[0] as String).folded == child.folded }
            guard let key else { return (child, projects[.projectID]) }
            return (child, key[1])
        }
        guard let key = keys.first, keys.count == 1 else {
            throw LocalStoreError(
                .schemaMismatch, at: place(tables.items),
                keys.isEmpty ? "no foreign key points at \(tables.projects)" : "more than one foreign key points at \(tables.projects)",
                hint: "say which column does: --column item.project=COLUMN")
        }
        return (key[0], key[1])
    }

    /// The column with that name; for nil, the primary key.
    private func column(_ name: String?, of table: String) throws -> String {
        if let name { return name }
        let key = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0", arguments: [table])
        guard let column = key.first, key.count == 1 else {
            throw LocalStoreError(
                .schemaMismatch, at: place(table), "it has no primary key of one column", hint: "say which column holds the id: --column project.id=COLUMN")
        }
        return column
    }

    private func text(_ row: Row, _ columns: Columns, _ field: ProjectTables.Field) throws -> String {
        guard let column = columns.found[field] else { return "" }
        switch (row[column] as DatabaseValue).storage {
        case .string(let text): return text
        case .int64(let number): return String(number)
        case .null where field != .projectID && field != .itemID: return ""
        default: throw bad(columns.table, column, "it holds neither text nor an integer")
        }
    }

    private func flag(_ row: Row, _ columns: Columns, _ field: ProjectTables.Field) throws -> Bool {
        guard let column = columns.found[field] else { return false }
        switch (row[column] as DatabaseValue).storage {
        case .null, .int64(0): return false
        case .int64(1): return true
        default: throw bad(columns.table, column, "it holds something other than 0, 1 or NULL")
        }
    }

    private func bad(_ table: String, _ column: String, _ reason: String) -> LocalStoreError {
        LocalStoreError(.badRow, at: "\(place(table)), column \(column)", reason, hint: "name another column, or correct the row")
    }

    fileprivate func place(_ table: String) -> String { "\(path), table \(table)" }
}

/// The columns of one of the two tables, by field.
private struct Columns {
    enum Side: String { case project, item }

    let table: String
    /// The existing columns. Optional fields without a column are left out.
    let found: [ProjectTables.Field: String]

    init(_ side: Side, of table: String, in reader: ProjectReader) throws {
        self.table = table
        let there = try String.fetchAll(reader.db, sql: "SELECT name FROM pragma_table_xinfo(?)", arguments: [table])
        guard !there.isEmpty else {
            throw LocalStoreError(
                .schemaMismatch, at: reader.place(table), "there is no such table", hint: "say which: --\(side.rawValue)-table TABLE")
        }
        var found: [ProjectTables.Field: String] = [:]
        for field in ProjectTables.Field.allCases where field.rawValue.exact.hasPrefix(side.rawValue + ".") {
            guard let wanted = reader.tables.columns[field] ?? field.defaultColumn else { continue }
            if let column = there.first(where: { $0.folded == wanted.folded }) {
                found[field] = column
            } else if reader.tables.columns[field] != nil || !field.isOptional {
                throw LocalStoreError(
                    .schemaMismatch, at: reader.place(table), "it has no column \(wanted)", hint: "say which column it is: --column \(field.rawValue)=COLUMN")
            }
        }
        self.found = found
    }

    /// The column of a field that is not optional.
    subscript(field: ProjectTables.Field) -> String { found[field] ?? "" }
}

extension RowAccess {
    /// Reads one project and its items, in the order of their positions or else of their ids.
    ///
    /// - Parameter id: the project's id; an integer id in decimal.
    /// - Throws: ``LocalStoreError`` with `.notFound`, `.schemaMismatch` (no such table, column or foreign key) or `.badRow`.
    package func project(_ id: String, from tables: ProjectTables) throws -> ProjectDraft {
        try ProjectReader(db: db, path: path, tables: tables).read(id)
    }
}
