import GRDB
import SnapshotModel

/// The triggers that log which entities of a dataset any program touches.
///
/// An entry says which key, when, the row's own timestamp if the statement changed it, and the timestamp that it replaced;
/// consolidation finds out later, from the row, whether the entity was changed or deleted. Imports are not logged.
///
/// Kinds of entries (``LogEntryKind``): 0, a row that was there; 1, one that REPLACE may remove; 2, a key that was put in; 3, a row that is there under a
/// key that is about to be put in; 4, made by a comparison, not by a trigger: a key of which it is not known whether it was there; 5, a row
/// that was there and of which the statement changed at most columns that a message changes by themselves, and the timestamp.
///
/// SQLite refuses to drop a column that a trigger cannot do without. So each reference to a column outside of the key stands in a scope around which another
/// one has a column of the same name that is NULL: `(SELECT (SELECT NEW."at") FROM (SELECT NULL AS "at") AS new)`. SQLite looks in the inner scope first,
/// and in the outer one once the application has dropped the column. The scopes are around single values: around the whole entry they cost an insert
/// half as much again as the entry itself.
struct ChangeTriggers {
    /// The triggers as `CREATE TRIGGER` statements, by name.
    let statements: [(name: String, sql: String)]

    /// Which triggers: the present ones, or those that an earlier version of snapsync installed.
    enum Form {
        case present
        /// A scope was around the whole entry, which logs the same and costs the application more.
        case wideScopes
        /// SQLite refused to drop the timestamp and the columns of marks. The clock could be a millisecond early, and a mark that also changed the case of a
        /// text in a column that ignores it counted as a mark alone.
        case earlyClock
        /// Kind 5 only where the statement changed the read mark: a statement that changed nothing counted as an edit of the whole row.
        case changedMarks
        /// No kind 5. The triggers log the same keys and cost the application more.
        case unmarked

        /// The forms that ``ChangeTracking`` replaces without comparing the table, because they log the same keys.
        static let earlier: [Form] = [.wideScopes, .earlyClock, .changedMarks, .unmarked]
    }

    /// The triggers of a dataset; nil if its table has a unique index on expressions that are not understood.
    ///
    /// - Parameter stampName: the name of the timestamp column when the triggers were made; SQLite does not rename it in the outer scopes.
    init?(_ db: Database, _ schema: DatasetSchema, id: Int64, form: Form = .present, stampName: String? = nil) throws {
        guard let others = try UniqueKey.others(db, schema) else { return nil }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.timestampIndex.map { schema.columns[$0].column.sqlIdentifier }
        // SQLite compares the names of an UPDATE with these, and the rowid has three.
        let isHidden = try TableInspector.hiddenKey(of: schema, db) != nil
        let changedKey = isHidden ? RowidName.all.map(\.sqlIdentifier).joined(separator: ", ") : key.list()
        let columns = schema.columns.indices.map { isHidden && schema.keyIndices == [$0] ? changedKey : schema.columns[$0].column.sqlIdentifier }
            .joined(separator: ", ")

        let isScoped = form == .present || form == .wideScopes
        let clock = isScoped ? Self.clock : "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        func note(_ values: String) -> String { "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (\(id), \(values));" }
        func trigger(_ name: String, _ event: String, _ body: String, when condition: String? = nil) -> (String, String) {
            let name = "snapsync_\(schema.name)_\(name)"
            let conditions = form == .unmarked ? ["NOT EXISTS (SELECT 1 FROM snapsync_importing)", condition] : [condition, ImportFlag.isAbsent]
            return (name, "CREATE TRIGGER \(name) \(event) ON \(table) WHEN \(conditions.compactMap { $0 }.joined(separator: " AND ")) BEGIN \(body) END")
        }
        // Logs a row that is there. Usually it is not, and the condition finds that out before SQLite opens anything for writing.
        func trigger(_ name: String, _ event: String, noting values: String, where row: String) -> (String, String) {
            let body = "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT \(id), \(values) FROM \(table) t WHERE \(row);"
            return trigger(name, event, body, when: form == .unmarked ? nil : "EXISTS (SELECT 1 FROM \(table) t WHERE \(row))")
        }
        let insertion = "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen)"
        // What the scopes around the references hold.
        let stampBlanks = stamp.map { [stampName?.sqlIdentifier ?? $0] } ?? [], markBlanks = Self.markColumns(schema).map(\.sqlIdentifier)
        let blanks = stampBlanks + markBlanks
        func blank(_ columns: [String]) -> String { "(SELECT \(columns.map { "NULL AS \($0)" }.joined(separator: ", ")))" }
        let wide = form == .wideScopes && !blanks.isEmpty ? blank(blanks) : nil
        // A value in a scope for each row that it refers to, the innermost first.
        func scoped(_ value: String, _ columns: [String], _ rows: String...) -> String {
            guard form == .present, !columns.isEmpty else { return value }
            return rows.reduce("(SELECT \(value))") { "(SELECT \($0) FROM \(blank(columns)) AS \($1))" }
        }
        let new = stamp.map { "NEW.\($0)" } ?? "NULL", old = stamp.map { "OLD.\($0)" } ?? "NULL"
        let changed = stamp.map { "CASE WHEN NEW.\($0) IS NOT OLD.\($0) THEN NEW.\($0) END" } ?? "NULL"
        let kind =
            form == .unmarked
            ? "CASE WHEN NEW.\(key.list()) IS OLD.\(key.list()) THEN 0 ELSE 2 END"
            : "CASE WHEN \(key.differs("NEW", "OLD")) THEN 2\(Self.mark(db, schema, form)) ELSE 0 END"
        func noteOld(_ kind: Int) -> String {
            guard let wide, stamp != nil else { return note("\(kind), \(key.logged(of: "OLD")), \(clock), NULL, \(scoped(old, stampBlanks, "old"))") }
            return "\(insertion) SELECT \(id), \(kind), \(key.logged(of: "OLD")), \(clock), NULL, (SELECT \(old)) FROM \(wide) AS old;"
        }
        func noteNew(_ kind: Int) -> String {
            guard let wide, stamp != nil else { return note("\(kind), \(key.logged(of: "NEW")), \(clock), \(scoped(new, stampBlanks, "new")), NULL") }
            return "\(insertion) SELECT \(id), \(kind), \(key.logged(of: "NEW")), \(clock), (SELECT \(new)), NULL FROM \(wide) AS new;"
        }
        func noteUpdate() -> String {
            guard let wide else {
                let values = [scoped(changed, stampBlanks, "new", "old"), scoped(old, stampBlanks, "old")]
                return note("\(scoped(kind, markBlanks, "new", "old")), \(key.logged(of: "NEW")), \(clock), \(values[0]), \(values[1])")
            }
            func inner(_ value: String) -> String { value == "NULL" ? value : "(SELECT (SELECT \(value)) FROM \(wide) AS new)" }
            let innerKind = markBlanks.isEmpty ? kind : inner(kind)
            return "\(insertion) SELECT \(id), \(innerKind), \(key.logged(of: "NEW")), \(clock), \(inner(changed)), (SELECT \(old)) FROM \(wide) AS old;"
        }
        var statements = [
            trigger("insert", "AFTER INSERT", noteNew(2)),
            trigger("delete", "AFTER DELETE", noteOld(0)),
            trigger("update", "AFTER UPDATE OF \(columns)", noteUpdate()),
            trigger("rename", "AFTER UPDATE OF \(changedKey)", noteOld(0), when: key.differs("OLD", "NEW")),
        ]
        // Nor does REPLACE say what it replaced under the same key; what is written over it must be later (kind 3: seen, not touched).
        if let stamp {
            let seen = "3, \(key.logged(of: "t")), 0, NULL, t.\(stamp)", row = key.isSame("t", "NEW")
            if isScoped {
                let isThere = "EXISTS (SELECT 1 FROM \(table) t WHERE \(row))"
                let found = "(SELECT t.\(stamp) FROM \(table) t WHERE \(row))"
                let entry = "\(insertion) SELECT \(id), 3, \(key.logged(of: "NEW")), 0, NULL"
                let body = wide.map { "\(entry), \(found) FROM \($0) AS t" } ?? "\(entry), \(scoped(found, stampBlanks, "t"))"
                statements.append(trigger("over", "BEFORE INSERT", body + ";", when: isThere))
                statements.append(
                    trigger("over_update", "BEFORE UPDATE OF \(changedKey)", "\(body) WHERE \(isThere);", when: key.differs("OLD", "NEW")))
            } else {
                statements.append(trigger("over", "BEFORE INSERT", noting: seen, where: row))
                let body = "\(insertion) SELECT \(id), \(seen) FROM \(table) t WHERE \(row);"
                statements.append(trigger("over_update", "BEFORE UPDATE OF \(changedKey)", body, when: key.differs("OLD", "NEW")))
            }
        }
        // REPLACE removes rows without a delete trigger; a row that is still there afterwards was not touched (kind 1).
        for (number, unique) in others.enumerated() {
            let seen = "1, \(key.logged(of: "t")), \(clock), NULL, \(stamp.map { "t.\($0)" } ?? "NULL")",
                row = "\(unique.isTakenFrom) AND \(key.differs("t", "NEW"))"
            let names = unique.columns.map(\.sqlIdentifier).joined(separator: ", ")
            let update = names.isEmpty ? "BEFORE UPDATE" : "BEFORE UPDATE OF \(names)"
            for (name, event) in [("replace\(number)", "BEFORE INSERT"), ("replace\(number)_update", update)] {
                guard isScoped, let stamp else {
                    statements.append(trigger(name, event, noting: seen, where: row))
                    continue
                }
                func found(_ value: String) -> String { "(SELECT \(value) FROM \(table) t WHERE \(row))" }
                let entry = "\(insertion) SELECT \(id), 1, \(found(key.logged(of: "t"))), \(clock), NULL", old = found("t.\(stamp)")
                let body = wide.map { "\(entry), \(old) FROM \($0) AS t;" } ?? "\(entry), \(scoped(old, stampBlanks, "t"));"
                statements.append(trigger(name, event, body, when: "EXISTS \(found("1"))"))
            }
        }
        self.statements = statements
    }

    /// Milliseconds since 1970, by SQLite's own clock: the one that every program that writes the table has.
    ///
    /// The day is exact to 40 us, so rounding gives the millisecond that `strftime` has in the same statement.
    static let clock = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"

    /// The columns that the update trigger compares to find a statement that changed at most what a message changes by itself: a mark.
    private static func markColumns(_ schema: DatasetSchema) -> [String] {
        guard schema.messageRules?.patched.isEmpty == false else { return [] }
        return schema.columns.indices.filter { !schema.keyIndices.contains($0) && $0 != schema.timestampIndex }.map { schema.columns[$0].column }
    }

    /// The part of the update trigger's CASE that finds a mark; empty for a dataset whose entities cannot be marked.
    private static func mark(_ db: Database, _ schema: DatasetSchema, _ form: Form) -> String {
        guard let rules = schema.messageRules, !rules.patched.isEmpty else { return "" }
        let own = rules.ownColumns
        let rest = schema.columns.indices.filter { !own.contains($0) && !schema.keyIndices.contains($0) }
        let marks = rules.patched.map { schema.columns[$0].column.sqlIdentifier }.map { "NEW.\($0) IS NOT OLD.\($0)" }
        let changed = form == .changedMarks || rest.isEmpty ? [marks.count == 1 ? marks[0] : "(\(marks.joined(separator: " OR ")))"] : []
        let same = rest.map { index in
            let column = schema.columns[index].column, name = column.sqlIdentifier
            // By the column's own collation a text that differs in nothing but its case may be the same.
            // A column that the application has dropped has none.
            let collation = (try? columnCollation(db, table: schema.table, column: column)) ?? "BINARY"
            let isCollated = (form == .present || form == .wideScopes) && collation != "BINARY"
            return "NEW.\(name)\(isCollated ? " COLLATE BINARY" : "") IS OLD.\(name)"
        }
        return " WHEN " + (changed + same).joined(separator: " AND ") + " THEN 5"
    }

    /// Whether triggers that were found, in the order of their names, are these.
    func areThese(_ found: [(name: String, sql: String)]) -> Bool {
        statements.sorted { $0.name < $1.name }.elementsEqual(found) { $0.name == $1.name && $0.sql == $1.sql }
    }
}
