import GRDB
import SnapshotModel
import StrictText

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

    /// The triggers of a dataset; nil if its table has a unique index on expressions that ``IndexText`` does not understand.
    ///
    /// - Parameter stampName: the name of the timestamp column when the triggers were made. SQLite does not rename it in the outer scopes.
    init?(_ db: Database, _ schema: DatasetSchema, id: Int64, stampName: String? = nil) throws {
        guard let others = try UniqueKey.others(db, schema) else { return nil }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let stamp = schema.timestampIndex.map { schema.columns[$0].column.sqlIdentifier }
        // SQLite matches the column names in an UPDATE with these, and the rowid has three names.
        let isHidden = try TableInspector.hiddenKey(of: schema, db) != nil
        let changedKey = isHidden ? RowidName.all.map(\.sqlIdentifier).joined(separator: ", ") : key.list()
        let columns = schema.columns.indices.map { isHidden && schema.keyIndices == [$0] ? changedKey : schema.columns[$0].column.sqlIdentifier }
            .joined(separator: ", ")

        let insertion = "INSERT INTO snapsync_log(dataset, kind, key, clock, stamp, seen)"
        func note(_ values: String) -> String { "\(insertion) VALUES (\(id), \(values));" }
        func trigger(_ name: String, _ event: String, _ body: String, when condition: String? = nil) -> (String, String) {
            let name = "snapsync_\(schema.name)_\(name)", conditions = [condition, ImportFlag.isAbsent].compactMap { $0 }
            return (name, "CREATE TRIGGER \(name) \(event) ON \(table) WHEN \(conditions.joined(separator: " AND ")) BEGIN \(body) END")
        }
        // The names of the NULL columns in the outer scopes.
        let stampBlanks = stamp.map { [stampName?.sqlIdentifier ?? $0] } ?? [], markBlanks = Self.markColumns(schema).map(\.sqlIdentifier)
        // Encloses a value in one scope for each row that it refers to, the innermost first.
        func scoped(_ value: String, _ columns: [String], _ rows: String...) -> String {
            guard !columns.isEmpty else { return value }
            let blank = "(SELECT \(columns.map { "NULL AS \($0)" }.joined(separator: ", ")))"
            return rows.reduce("(SELECT \(value))") { "(SELECT \($0) FROM \(blank) AS \($1))" }
        }
        let new = scoped(stamp.map { "NEW.\($0)" } ?? "NULL", stampBlanks, "new"), old = scoped(stamp.map { "OLD.\($0)" } ?? "NULL", stampBlanks, "old")
        let changed = scoped(stamp.map { "CASE WHEN NEW.\($0) IS NOT OLD.\($0) THEN NEW.\($0) END" } ?? "NULL", stampBlanks, "new", "old")
        let kind = scoped("CASE WHEN \(key.differs("NEW", "OLD")) THEN 2\(Self.mark(db, schema)) ELSE 0 END", markBlanks, "new", "old")
        let deletion = note("0, \(key.logged(of: "OLD")), \(Self.clock), NULL, \(old)")
        var statements = [
            trigger("insert", "AFTER INSERT", note("2, \(key.logged(of: "NEW")), \(Self.clock), \(new), NULL")),
            trigger("delete", "AFTER DELETE", deletion),
            trigger("update", "AFTER UPDATE OF \(columns)", note("\(kind), \(key.logged(of: "NEW")), \(Self.clock), \(changed), \(old)")),
            trigger("rename", "AFTER UPDATE OF \(changedKey)", deletion, when: key.differs("OLD", "NEW")),
        ]
        // The timestamp of the stored row under the key of another row.
        func storedStamp(of row: String) -> String {
            stamp.map { scoped("(SELECT s.\($0) FROM \(table) s WHERE \(key.isSame("s", row)))", stampBlanks, "s") } ?? "NULL"
        }
        // In triggers that log a stored row, the condition finds out that there is none, as usual, before SQLite opens the log for writing.
        //
        // REPLACE runs no delete trigger for the row that it replaces under the same key. The new row's instant must be later than that row's, so
        // log its timestamp (kind 3, which does not count as a change). Without a timestamp, log that there is a row.
        if Self.notesOverwritten(schema) {
            let row = key.isSame("t", "NEW"), isThere = "EXISTS (SELECT 1 FROM \(table) t WHERE \(row))"
            let body = "\(insertion) SELECT \(id), 3, \(key.logged(of: "NEW")), 0, NULL, \(storedStamp(of: "NEW"))"
            statements.append(trigger("over", "BEFORE INSERT", body + ";", when: isThere))
            statements.append(trigger("over_update", "BEFORE UPDATE OF \(changedKey)", "\(body) WHERE \(isThere);", when: key.differs("OLD", "NEW")))
        }
        // REPLACE removes rows with the same UNIQUE values without running a delete trigger. Log them as kind 1: if the row still exists at
        // consolidation, the entry is ignored.
        for (number, unique) in others.enumerated() {
            // Of a partial index, several rows may have the values.
            let rows = "FROM \(table) t WHERE \(unique.isTakenFrom) AND \(key.differs("t", "NEW"))"
            let body = "\(insertion) SELECT \(id), 1, \(key.logged(of: "t")), \(Self.clock), NULL, \(storedStamp(of: "t")) \(rows);"
            let names = unique.columns.map(\.sqlIdentifier).joined(separator: ", ")
            let update = names.isEmpty ? "BEFORE UPDATE" : "BEFORE UPDATE OF \(names)"
            for (name, event) in [("replace\(number)", "BEFORE INSERT"), ("replace\(number)_update", update)] {
                statements.append(trigger(name, event, body, when: "EXISTS (SELECT 1 \(rows))"))
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
    private static func mark(_ db: Database, _ schema: DatasetSchema) -> String {
        guard let rules = schema.messageRules, !rules.patched.isEmpty else { return "" }
        let own = rules.ownColumns
        let rest = schema.columns.indices.filter { !own.contains($0) && !schema.keyIndices.contains($0) }
        let changed = rules.patched.map { schema.columns[$0].column.sqlIdentifier }.map { "NEW.\($0) IS NOT OLD.\($0)" }
        let condition = changed.count == 1 ? changed[0] : "(\(changed.joined(separator: " OR ")))"
        // Two spellings of a key are one entity. Columns that have the bytes compared anyway need not be compared.
        // A column that the application has dropped has no collation.
        func collation(_ index: Int) -> String { (try? columnCollation(db, table: schema.table, column: schema.columns[index].column)) ?? "BINARY" }
        let keys = schema.keyIndices.filter { collation($0) != "BINARY" }
        let same = (rest + keys).map { index in
            // The column's own collation may ignore a difference in case, so compare the bytes.
            let name = schema.columns[index].column.sqlIdentifier
            return "NEW.\(name)\(collation(index) == "BINARY" ? "" : " COLLATE BINARY") IS OLD.\(name)"
        }
        return " WHEN " + ((rest.isEmpty ? [condition] : []) + same).joined(separator: " AND ") + " THEN 5"
    }

    /// Whether the end of a trigger's name, after the dataset's, is that of one of these triggers, and not the rest of another dataset's name.
    static func isKind(_ ending: Substring.UTF8View) -> Bool {
        if ["insert", "delete", "update", "rename", "over", "over_update"].contains(where: { ending.elementsEqual($0.utf8) }) { return true }
        guard ending.starts(with: "replace".utf8) else { return false }
        let rest = ending.dropFirst(7).drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return rest.isEmpty || rest.elementsEqual("_update".utf8)
    }

    /// Whether the found triggers, in the order of their names, are exactly these.
    func areThese(_ found: [(name: String, sql: String)]) -> Bool {
        statements.sorted { $0.name < $1.name }.elementsEqual(found) { $0.name == $1.name && $0.sql.exact == $1.sql.exact }
    }
}
