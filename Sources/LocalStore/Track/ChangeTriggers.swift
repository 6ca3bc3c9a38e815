import GRDB
import SnapshotModel

/// The triggers that log which entities of a dataset any program touches.
///
/// An entry has the key, the time, the row's own timestamp if the statement changed it, and the timestamp that it replaced. Consolidation later
/// looks at the row to find out whether the entity was changed or deleted. Imports are not logged.
///
/// Kinds of entries (``LogEntryKind``):
///
/// - 0: an existing row was updated or deleted;
/// - 1: REPLACE may remove this row;
/// - 2: a row was inserted, or an update gave it this key;
/// - 3: before an insert, a row was already stored under the key;
/// - 4: a comparison found a difference, and it is not known whether the row existed; no trigger logs this kind;
/// - 5: the statement changed at most the columns of an existing row that a message changes by themselves, and the timestamp.
///
/// SQLite refuses to drop a column that a trigger needs. So each reference to a column outside of the key is resolved in two scopes; the outer
/// one has a column of the same name that is NULL: `(SELECT (SELECT NEW."at") FROM (SELECT NULL AS "at") AS new)`. SQLite looks in the inner
/// scope first, and in the outer one once the application has dropped the column. The scopes enclose single values, because scopes around the
/// whole entry make an insert slower by half the entry's own cost.
struct ChangeTriggers {
    /// The triggers as `CREATE TRIGGER` statements, by name.
    let statements: [(name: String, sql: String)]

    /// Which generation of triggers: the present one, or one that an earlier version of snapsync installed.
    enum Form {
        case present
        /// An update that changed the case of a key in a case-insensitive column was logged as a mark.
        case foldedKeys
        /// In a table without a timestamp column, nothing is logged before an insert (kind 3), also if messages change single columns of its rows.
        case unnoted
        /// A scope encloses the whole entry. These triggers log the same and slow the application down more.
        case wideScopes
        /// Without scopes: SQLite refused to drop the timestamp and the columns that the mark check reads. The clock could be a millisecond
        /// early. An update that changed a mark and also the case of a text in a case-insensitive column was logged as a mark alone.
        case earlyClock
        /// Kind 5 is logged only if the statement changed a mark's column. A statement that changed nothing was logged as an edit of the whole
        /// row.
        case changedMarks
        /// No kind 5. These triggers log the same keys and slow the application down more.
        case unmarked

        /// The forms that ``ChangeTracking`` replaces without comparing the table, because they log the same keys.
        static let earlier: [Form] = [.foldedKeys, .unnoted, .wideScopes, .earlyClock, .changedMarks, .unmarked]

        /// Whether each column outside of the key has two scopes.
        var isScoped: Bool { [.present, .foldedKeys, .unnoted, .wideScopes].contains(self) }
    }

    /// The triggers of a dataset; nil if its table has a unique index on expressions that ``IndexText`` does not understand.
    ///
    /// - Parameter stampName: the name of the timestamp column when the triggers were made. SQLite does not rename it in the outer scopes.
    init?(_ db: Database, _ schema: DatasetSchema, id: Int64, form: Form = .present, stampName: String? = nil) throws {
        guard let others = try UniqueKey.others(db, schema) else { return nil }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.timestampIndex.map { schema.columns[$0].column.sqlIdentifier }
        // SQLite matches the column names in an UPDATE with these, and the rowid has three names.
        let isHidden = try TableInspector.hiddenKey(of: schema, db) != nil
        let changedKey = isHidden ? RowidName.all.map(\.sqlIdentifier).joined(separator: ", ") : key.list()
        let columns = schema.columns.indices.map { isHidden && schema.keyIndices == [$0] ? changedKey : schema.columns[$0].column.sqlIdentifier }
            .joined(separator: ", ")

        let clock = form.isScoped ? Self.clock : "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        func note(_ values: String) -> String { "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) VALUES (\(id), \(values));" }
        func trigger(_ name: String, _ event: String, _ body: String, when condition: String? = nil) -> (String, String) {
            let name = "snapsync_\(schema.name)_\(name)"
            let conditions = form == .unmarked ? ["NOT EXISTS (SELECT 1 FROM snapsync_importing)", condition] : [condition, ImportFlag.isAbsent]
            return (name, "CREATE TRIGGER \(name) \(event) ON \(table) WHEN \(conditions.compactMap { $0 }.joined(separator: " AND ")) BEGIN \(body) END")
        }
        // Logs an existing row. Usually there is none; the condition finds that out before SQLite opens a table for writing.
        func trigger(_ name: String, _ event: String, noting values: String, where row: String) -> (String, String) {
            let body = "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen) SELECT \(id), \(values) FROM \(table) t WHERE \(row);"
            return trigger(name, event, body, when: form == .unmarked ? nil : "EXISTS (SELECT 1 FROM \(table) t WHERE \(row))")
        }
        let insertion = "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen)"
        // The names of the NULL columns in the outer scopes.
        let stampBlanks = stamp.map { [stampName?.sqlIdentifier ?? $0] } ?? [], markBlanks = Self.markColumns(schema).map(\.sqlIdentifier)
        let blanks = stampBlanks + markBlanks
        func blank(_ columns: [String]) -> String { "(SELECT \(columns.map { "NULL AS \($0)" }.joined(separator: ", ")))" }
        let wide = form == .wideScopes && !blanks.isEmpty ? blank(blanks) : nil
        // Encloses a value in one scope for each row that it refers to, the innermost first.
        func scoped(_ value: String, _ columns: [String], _ rows: String...) -> String {
            guard form.isScoped, form != .wideScopes, !columns.isEmpty else { return value }
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
        // REPLACE runs no delete trigger for the row that it replaces under the same key. The new row's instant must be later than that row's, so
        // log its timestamp (kind 3, which does not count as a change). Without a timestamp, log that there is a row.
        if stamp != nil || [.present, .foldedKeys].contains(form) && Self.notesOverwritten(schema) {
            let seen = "3, \(key.logged(of: "t")), 0, NULL, \(stamp.map { "t.\($0)" } ?? "NULL")", row = key.isSame("t", "NEW")
            if form.isScoped, let stamp {
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
        // REPLACE removes rows with the same UNIQUE values without running a delete trigger. Log them as kind 1: if the row still exists at
        // consolidation, the entry is ignored.
        for (number, unique) in others.enumerated() {
            let seen = "1, \(key.logged(of: "t")), \(clock), NULL, \(stamp.map { "t.\($0)" } ?? "NULL")",
                row = "\(unique.isTakenFrom) AND \(key.differs("t", "NEW"))"
            let names = unique.columns.map(\.sqlIdentifier).joined(separator: ", ")
            let update = names.isEmpty ? "BEFORE UPDATE" : "BEFORE UPDATE OF \(names)"
            for (name, event) in [("replace\(number)", "BEFORE INSERT"), ("replace\(number)_update", update)] {
                guard form.isScoped, let stamp else {
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

    /// Whether the triggers of a dataset log the row that an insert finds under its key: those of a table with a timestamp column, and of one of whose
    /// rows messages change single columns. A message about an inserted row must not change another row.
    static func notesOverwritten(_ schema: DatasetSchema) -> Bool {
        schema.timestampIndex != nil || schema.messageRules.map { !$0.rows && !$0.patched.isEmpty } ?? false
    }

    /// Milliseconds since 1970 by SQLite's own clock, which is the same in every program that writes the table.
    ///
    /// `julianday` is exact to 40 us, so rounding gives the same millisecond as `strftime` in the same statement.
    static let clock = "CAST((julianday('now') - 2440587.5) * 86400000 + 0.5 AS INTEGER)"

    /// The columns that the update trigger compares to recognize a mark: a statement that changed at most the columns that a message changes by
    /// themselves.
    private static func markColumns(_ schema: DatasetSchema) -> [String] {
        guard schema.messageRules?.patched.isEmpty == false else { return [] }
        return schema.columns.indices.filter { !schema.keyIndices.contains($0) && $0 != schema.timestampIndex }.map { schema.columns[$0].column }
    }

    /// The part of the update trigger's CASE that recognizes a mark; empty for a dataset without columns that messages change by themselves.
    private static func mark(_ db: Database, _ schema: DatasetSchema, _ form: Form) -> String {
        guard let rules = schema.messageRules, !rules.patched.isEmpty else { return "" }
        let own = rules.ownColumns
        let rest = schema.columns.indices.filter { !own.contains($0) && !schema.keyIndices.contains($0) }
        let marks = rules.patched.map { schema.columns[$0].column.sqlIdentifier }.map { "NEW.\($0) IS NOT OLD.\($0)" }
        let changed = form == .changedMarks || rest.isEmpty ? [marks.count == 1 ? marks[0] : "(\(marks.joined(separator: " OR ")))"] : []
        // Two spellings of a key are one entity. Columns that have the bytes compared anyway need not be compared.
        let keys = schema.keyIndices.filter { index in
            form == .present && ((try? columnCollation(db, table: schema.table, column: schema.columns[index].column)) ?? "BINARY") != "BINARY"
        }
        let same = (rest + keys).map { index in
            let column = schema.columns[index].column, name = column.sqlIdentifier
            // The column's own collation may ignore a difference in case, so compare the bytes. A column that the application has dropped has no
            // collation.
            let collation = (try? columnCollation(db, table: schema.table, column: column)) ?? "BINARY"
            let isCollated = form.isScoped && collation != "BINARY"
            return "NEW.\(name)\(isCollated ? " COLLATE BINARY" : "") IS OLD.\(name)"
        }
        return " WHEN " + (changed + same).joined(separator: " AND ") + " THEN 5"
    }

    /// Whether the found triggers, in the order of their names, are exactly these.
    func areThese(_ found: [(name: String, sql: String)]) -> Bool {
        statements.sorted { $0.name < $1.name }.elementsEqual(found) { $0.name == $1.name && $0.sql == $1.sql }
    }
}
