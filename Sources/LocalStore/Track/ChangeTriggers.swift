import GRDB
import LocalTables
import SnapshotModel
import StrictText

/// The triggers that log which entities of a dataset any program changes, and which of their columns. Imports are not logged.
///
/// An entry has the key, the time, the row's own timestamp if the statement changed it, the timestamp that it replaced, and what the statement
/// changed (docs/local-tables.md, `snapsync_log`). A statement that changes no value of a described column is not logged. For updates, each group of
/// five columns has a trigger, which runs only for statements that set one of them. So an update of a row may leave several entries.
///
/// SQLite refuses to drop a column that a trigger needs. So each reference to a column outside of the key is resolved in two scopes; the outer
/// one has a column of the same name that is NULL: `(SELECT (SELECT NEW."at") FROM (SELECT NULL AS "at") AS new)`. SQLite looks in the inner
/// scope first, and in the outer one once the application has dropped the column. The scopes enclose single values, because scopes around the
/// whole entry make an insert slower by half the entry's own cost.
struct ChangeTriggers {
    /// The triggers as `CREATE TRIGGER` statements, by name.
    let statements: [(name: String, sql: String)]

    /// How many columns the entry of an update can tell apart.
    static let groupSize = 5
    /// The entry of an update is the number of the group times this, plus a bit for each of its columns.
    static let groupFactor: Int64 = 32

    /// The triggers of a dataset; nil if its table has a unique index on expressions that ``IndexText`` does not understand.
    ///
    /// - Parameter madeNames: the names of the columns when the triggers were made. SQLite does not rename them in the outer scopes.
    init?(_ db: Database, _ schema: DatasetSchema, id: Int64, madeWith madeNames: [String]? = nil) throws {
        guard let others = try UniqueKey.others(db, schema) else { return nil }
        let table = schema.table.sqlIdentifier, key = schema.keySQL
        let names = schema.columns.map(\.column.sqlIdentifier), blankNames = (madeNames ?? schema.columns.map(\.column)).map(\.sqlIdentifier)
        // SQLite matches the column names in an UPDATE with these, and the rowid has three names.
        let isHidden = try TableInspector.hiddenKey(of: schema, db) != nil
        let changedKey = isHidden ? RowidName.all.map(\.sqlIdentifier).joined(separator: ", ") : key.list()

        let insertion = "INSERT INTO snapsync_log(dataset, key, clock, stamp, seen, changed)"
        func entry(_ values: String) -> String { "\(insertion) VALUES (\(id), \(values));" }
        func trigger(_ name: String, _ event: String, body: String, when condition: String? = nil) -> (String, String) {
            let name = "snapsync_\(schema.name)_\(name)", when = condition.map { " WHEN \($0)" } ?? ""
            return (name, "CREATE TRIGGER \(name) \(event) ON \(table)\(when) BEGIN \(body) END")
        }
        // Encloses a value in one scope for each row that it refers to, the innermost first.
        func scoped(_ value: String, of columns: [Int], _ rows: String...) -> String {
            guard !columns.isEmpty else { return value }
            let blank = "(SELECT \(columns.map { "NULL AS \(blankNames[$0])" }.joined(separator: ", ")))"
            return rows.reduce("(SELECT \(value))") { "(SELECT \($0) FROM \(blank) AS \($1))" }
        }
        let stamp = schema.timestampIndex.map { [$0] } ?? [], stampName = stamp.first.map { names[$0] }
        let new = scoped(stampName.map { "NEW.\($0)" } ?? "NULL", of: stamp, "new"), old = scoped(stampName.map { "OLD.\($0)" } ?? "NULL", of: stamp, "old")
        let changedStamp = scoped(stampName.map { "CASE WHEN NEW.\($0) IS NOT OLD.\($0) THEN NEW.\($0) END" } ?? "NULL", of: stamp, "new", "old")
        let isSameKey = key.isSame("t", "NEW"), isThere = "EXISTS (SELECT 1 FROM \(table) t WHERE \(isSameKey))"
        let compared = try ComparedColumns(db, schema, key: key)
        var statements = [
            trigger("insert", "AFTER INSERT", body: entry("\(key.logged(of: "NEW")), \(LogSQL.clock), \(new), NULL, \(LogEntryKind.inserted)")),
            trigger("delete", "AFTER DELETE", body: entry("\(key.logged(of: "OLD")), \(LogSQL.clock), NULL, \(old), \(LogEntryKind.touched)")),
        ]
        for start in stride(from: 0, to: names.count, by: Self.groupSize) {
            let group = Array(Self.positions(schema, group: start / Self.groupSize))
            let bits = group.map { "(\(compared.differ($0, in: "NEW", "OLD"))) * \(1 << ($0 - start))" }.joined(separator: " + ")
            let changed = "\(Int64(start / Self.groupSize) * Self.groupFactor) + \(scoped(bits, of: group, "new", "old"))"
            statements.append(
                trigger(
                    "update\(start / Self.groupSize)", "AFTER UPDATE OF \(group.map { names[$0] }.joined(separator: ", "))",
                    body: entry("\(key.logged(of: "NEW")), \(LogSQL.clock), \(changedStamp), \(old), \(changed)"),
                    when: scoped(group.map { compared.differ($0, in: "NEW", "OLD") }.joined(separator: " OR "), of: group, "new", "old")))
        }
        // SQLite runs the trigger first that was made last. The entry of the new key has to come before those of changed columns.
        statements.append(
            trigger(
                "rename", "AFTER UPDATE OF \(changedKey)",
                body: entry("\(key.logged(of: "OLD")), \(LogSQL.clock), NULL, \(old), \(LogEntryKind.touched)")
                    + " " + entry("\(key.logged(of: "NEW")), \(LogSQL.clock), \(changedStamp), NULL, \(LogEntryKind.inserted)"),
                when: key.differs("OLD", "NEW")))
        // The timestamp of the stored row under the key of another row.
        func storedStamp(of row: String) -> String {
            stampName.map { scoped("(SELECT s.\($0) FROM \(table) s WHERE \(key.isSame("s", row)))", of: stamp, "s") } ?? "NULL"
        }
        // In triggers that log a stored row, the condition finds out that there is none, as usual, before SQLite opens the log for writing.
        //
        // REPLACE runs no delete trigger for the row that it replaces under the same key. The new row's instant must be later than that row's, and
        // only columns that differ are changed.
        let masks = stride(from: 0, to: names.count, by: LogSQL.maskSize).map { start in
            let part = Array(start..<min(start + LogSQL.maskSize, names.count))
            let bits = part.map { "(\(compared.differ($0, in: "NEW", "s"))) * \(1 << ($0 - start))" }.joined(separator: " + ")
            return scoped("(SELECT \(bits) FROM \(table) s WHERE \(key.isSame("s", "NEW")))", of: part, "s", "new")
        }
        let found = "\(insertion) SELECT \(id), \(key.logged(of: "NEW")), 0, NULL, \(storedStamp(of: "NEW")), '' || \(masks.joined(separator: " || ',' || "))"
        statements.append(trigger("over", "BEFORE INSERT", body: found + ";", when: isThere))
        statements.append(trigger("over_update", "BEFORE UPDATE OF \(changedKey)", body: "\(found) WHERE \(isThere);", when: key.differs("OLD", "NEW")))
        // REPLACE removes rows with the same UNIQUE values without running a delete trigger. If such a row still exists at consolidation, its entry
        // is ignored.
        for (number, unique) in others.enumerated() {
            // Of a partial index, several rows may have the values.
            let rows = "FROM \(table) t WHERE \(unique.isTakenFrom) AND \(key.differs("t", "NEW"))"
            let values = "\(key.logged(of: "t")), \(LogSQL.clock), NULL, \(storedStamp(of: "t")), \(LogEntryKind.mayBeReplaced)"
            let body = "\(insertion) SELECT \(id), \(values) \(rows);"
            let names = unique.columns.map(\.sqlIdentifier).joined(separator: ", ")
            let update = names.isEmpty ? "BEFORE UPDATE" : "BEFORE UPDATE OF \(names)"
            for (name, event) in [("replace\(number)", "BEFORE INSERT"), ("replace\(number)_update", update)] {
                statements.append(trigger(name, event, body: body, when: "EXISTS (SELECT 1 \(rows))"))
            }
        }
        self.statements = statements
    }

    /// The positions of the columns of a group. Columns of the key are among them: one key may have two spellings, as 1 and 1.0.
    static func positions(_ schema: DatasetSchema, group: Int) -> Range<Int> {
        schema.columns.indices.clamped(to: group * groupSize..<(group + 1) * groupSize)
    }

    /// The positions of the columns that the entry of an update names.
    static func positions(of changed: Int64) -> [Int] {
        let first = Int(changed / groupFactor) * groupSize
        return (0..<groupSize).filter { changed & 1 << Int64($0) != 0 }.map { first + $0 }
    }

    /// The positions of the columns in which an inserted row differs from the one that was found under its key, by the text in the log.
    static func positions(ofMask text: UnsafeRawBufferPointer) -> [Int] {
        text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).enumerated().flatMap { number, part in
            let bits = UInt64(String(decoding: part, as: UTF8.self)) ?? .max
            return (0..<LogSQL.maskSize).filter { bits & 1 << UInt64($0) != 0 }.map { number * LogSQL.maskSize + $0 }
        }
    }

    /// Whether the end of a trigger's name, after the dataset's, is that of one of these triggers, and not the rest of another dataset's name.
    static func isKind(_ ending: Substring.UTF8View) -> Bool {
        if ["insert", "delete", "rename", "over", "over_update"].contains(where: { ending.elementsEqual($0.utf8) }) { return true }
        func rest(after beginning: StaticString) -> Substring.UTF8View? {
            guard beginning.withUTF8Buffer({ ending.starts(with: $0) }) else { return nil }
            let rest = ending.dropFirst(beginning.utf8CodeUnitCount)
            return rest.first.map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } == true
                ? rest.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } : nil
        }
        if let rest = rest(after: "replace") { return rest.isEmpty || rest.elementsEqual("_update".utf8) }
        return rest(after: "update")?.isEmpty == true
    }

    /// Whether the found triggers, in the order of their names, are exactly these.
    func areThese(_ found: [OwnTrigger]) -> Bool {
        statements.sorted { $0.name < $1.name }.elementsEqual(found) { $0.name == $1.name && $0.sql.exact == $1.sql.exact }
    }
}

/// The columns of a dataset that triggers compare, and how: by their bytes.
private struct ComparedColumns {
    private let columns: [(name: String, collate: String, keepsTypes: Bool)]
    private let keys: Set<Int>
    private let key: KeySQL

    init(_ db: Database, _ schema: DatasetSchema, key: KeySQL) throws {
        (self.key, keys) = (key, Set(schema.keyIndices))
        let table = try TableColumns(db, schema.table)
        columns = schema.columns.map { column in
            // A column that the application has dropped has no collation.
            let found = table?.column(column.column)
            let isBinary = (found?.collation ?? "BINARY").folded == "binary"
            return (column.column.sqlIdentifier, isBinary ? "" : " COLLATE BINARY", found?.affinity == .blob)
        }
    }

    /// The condition that the values of a column differ.
    func differ(_ position: Int, in row: String, _ other: String) -> String {
        let (name, collate, keepsTypes) = columns[position]
        let differ = "\(row).\(name)\(collate) IS NOT \(other).\(name)"
        // Without an affinity, a column has 1 and 1.0 as two values, which SQLite calls equal.
        let condition = keepsTypes ? "(\(differ) OR typeof(\(row).\(name)) <> typeof(\(other).\(name)))" : differ
        // Of another key, the row is another one.
        return keys.contains(position) ? "\(condition) AND \(key.isSame(row, other)) IS 1" : condition
    }
}
