import Foundation
import GRDB
import LocalTables
package import SnapshotModel
package import StrictText

/// How a dataset's table differs from its description, after an application has changed the table.
package struct TableDifferences: Sendable {
    /// The dataset as it is described.
    package let schema: DatasetSchema
    /// The table's name now; nil if it is gone.
    package var table: String?
    /// Described columns that were renamed, each with its new name.
    package var renamedColumns: [(column: DatasetColumn, name: String)] = []
    /// Described columns that no longer exist, or that are generated now.
    package var lostColumns: [DatasetColumn] = []
    /// Columns that are neither described nor generated.
    package var newColumns: [String] = []
    /// The generated columns, which are in no version.
    package var generatedColumns: [String] = []
    /// The new columns without which no row can be inserted: NOT NULL, without a default.
    package var unfillableColumns: Set<ExactText> = []

    /// The lost columns that exist, but are generated.
    package var computedColumns: [DatasetColumn] { lostColumns.filter { lost in generatedColumns.contains { $0.folded == lost.column.folded } } }

    /// Whether the table was renamed.
    package var isRenamed: Bool { table.map { $0.folded != schema.table.folded } ?? false }

    /// Whether the table or a described column no longer exists under its name, or cannot be written any more.
    package var isBreaking: Bool { table == nil || isRenamed || !renamedColumns.isEmpty || !lostColumns.isEmpty }

    /// The description with the new names. It still contains the lost columns.
    package func renamed() throws -> DatasetSchema {
        let names = Dictionary(uniqueKeysWithValues: renamedColumns.map { ($0.column.name.exact, $0.name) })
        return try schema.with(
            columns: schema.columns.map {
                DatasetColumn($0.name, $0.shape, column: names[$0.name.exact] ?? $0.column, isOptional: $0.isOptional, collation: $0.collation)
            }
        ).with { $0.table = table ?? schema.table }
    }
}

extension TableInspector {
    /// Compares a dataset's table with its description.
    ///
    /// When SQLite renames a table or a column, it also changes the name in triggers. So the toolkit's triggers distinguish a renamed column from
    /// a dropped column beside an added one.
    package func differences(from schema: DatasetSchema) throws -> TableDifferences {
        var found = TableDifferences(schema: schema)
        let beginning = "snapsync_\(schema.name)_"
        // The number of the group of columns, and the trigger.
        let triggers = try transaction.ownTriggers(beginning + "update").compactMap { one in
            Int(Substring(one.name.utf8.dropFirst(beginning.utf8.count + 6))).map { (group: $0, table: one.table, sql: one.sql) }
        }
        let sql = "SELECT CASE type WHEN 'view' THEN type ELSE 'table' END FROM pragma_table_list(?) WHERE schema = 'main'"
        let type = try String.fetchOne(db.keptStatement(sql: sql), arguments: [schema.table])
        // A view in place of the table is reported when the table is checked.
        if type == "view" {
            found.table = schema.table
            return found
        }
        let name: String? = type == nil ? triggers.first?.table : schema.table
        guard let name, let table = try TableColumns(db, name) else { return found }
        found.table = name
        let isHidden = try hiddenKey(of: schema.with { $0.table = name }) != nil
        let new = table.undescribed(by: schema)
        found.newColumns = new.map(\.name)
        found.generatedColumns = table.columns.filter(\.isGenerated).map(\.name)
        let lost = schema.columns.indices.filter { table.column(schema.columns[$0].column)?.isGenerated != false && !(isHidden && schema.keyIndices == [$0]) }
        // Each trigger lists the columns of its group.
        var names: [Int: String] = [:]
        for trigger in triggers where trigger.table.folded == name.folded {
            names.merge(zip(ChangeTriggers.positions(schema, group: trigger.group), Self.updatedColumns(trigger.sql))) { _, new in new }
        }
        for index in lost {
            if let now = names[index], let name = found.newColumns.first(where: { $0.folded == now.folded }) {
                found.renamedColumns.append((schema.columns[index], name))
                found.newColumns.removeAll { $0.exact == name.exact }
            } else {
                found.lostColumns.append(schema.columns[index])
            }
        }
        found.unfillableColumns = Set(found.newColumns.map(\.exact)).intersection(new.filter(\.isRequired).map(\.name.exact))
        return found
    }

    /// A dataset by the names that its table has now, to read its edits; nil if the table or a column of the key is gone.
    package func remaining(of schema: DatasetSchema) throws -> DatasetSchema? {
        let found = try differences(from: schema), lost = Set(found.lostColumns.map(\.name.exact))
        guard let table = found.table, try db.hasTable(table), schema.keyColumns.allSatisfy({ !lost.contains($0.name.exact) }) else { return nil }
        guard let timestamp = schema.timestamp, lost.contains(timestamp.exact) else { return try found.renamed() }
        return try found.renamed().with { ($0.timestamp, $0.timestampUnit) = (nil, nil) }
    }

    /// The columns in `AFTER UPDATE OF` of a trigger, in order.
    private static func updatedColumns(_ sql: String) -> [String] {
        let tokens = SQLToken.all(of: Array(sql.unicodeScalars))
        guard let update = tokens.indices.first(where: { tokens[$0].isWord("update") && $0 + 1 < tokens.count && tokens[$0 + 1].isWord("of") }) else {
            return []
        }
        return tokens[(update + 2)...].prefix { !$0.isWord("on") }.compactMap(\.name)
    }

    /// Adds columns of a description that a table lacks. A column that is NOT NULL without a default is added without NOT NULL, because existing
    /// rows have no values for it.
    ///
    /// The statements consist only of quoted names and of the words of ``TableStructure``, never of SQL text from elsewhere.
    package func addColumns(_ names: [String], of description: DatasetDescription, to table: String) throws {
        for name in names {
            guard let column = description.structure.column(name) else { continue }
            var words = [column.column.sqlIdentifier, column.declared.sql]
            if column.collation != .binary { words.append("COLLATE \(column.collation.rawValue.uppercased())") }
            // SQLite adds no column whose default is the time.
            if case .literal = column.default, let value = column.default {
                if column.notNull { words.append("NOT NULL") }
                words.append("DEFAULT \(value.sql)")
            }
            try db.execute(sql: "ALTER TABLE \(table.sqlIdentifier) ADD COLUMN \(words.filter { !$0.isEmpty }.joined(separator: " "))")
        }
    }
}

/// A column that a table declares with another type than the zone.
package struct OtherType: Sendable {
    package let column: String
    /// The types as they are declared; empty for a column without one.
    package let here: String
    package let zone: String
    /// What the zone's type does to values.
    let affinity: ColumnAffinity
    /// Whether the zone's type makes the column the rowid, which holds only integers.
    let isRowid: Bool

    func changes(_ value: ColumnValue) -> Bool {
        guard isRowid else { return affinity.changed(value) != nil }
        if case .integer = value { return false }
        return true
    }
}

// A type that changes values of the zone.
extension TableInspector {
    /// The columns of a dataset whose types may change the zone's values.
    package func otherTypes(of schema: DatasetSchema, than zone: DatasetDescription) throws -> [OtherType] {
        guard let table = try TableColumns(db, schema.table) else { return [] }
        return schema.columns.compactMap { column -> OtherType? in
            guard let there = zone.column(column.name), let own = table.column(column.column), !own.isGenerated else { return nil }
            let affinity = ColumnAffinity(declared: there.declared.sql, isStrict: zone.structure.strict)
            guard own.affinity != .blob, own.affinity != affinity else { return nil }
            // `ANY` keeps values in STRICT tables alone, and they have few other types.
            let strict: [ColumnAffinity: String] = [.integer: "INTEGER", .real: "REAL", .text: "TEXT"]
            let type = table.isStrict ? strict[affinity] ?? "ANY" : there.declared == .any ? "" : there.declared.sql
            let isRowid = own.keyPlace > 0 && table.primaryKey.count == 1 && !table.isWithoutRowid && type.folded == "integer"
            return OtherType(
                column: own.name, here: own.declared, zone: type, affinity: ColumnAffinity(declared: type, isStrict: table.isStrict), isRowid: isRowid)
        }
    }

    /// Refuses types that would change keys, or values that were edited here. The log must have been consolidated.
    ///
    /// What was not edited is as a version has it, and the next import writes it as the newest version has it.
    ///
    /// - Throws: ``SyncError`` with `.schemaMismatch`, naming the first row and how many there are.
    package func refuseChanges(by types: [OtherType], of schema: DatasetSchema) throws {
        try refuseChangedKeys(by: types, of: schema) { try zonesTable(instead: schema) }
        let edited = try ChangedValues(types, schema), lookup = try transaction.rows.lookup(of: edited.schema)
        for change in try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil)) where !change.isDeletion {
            edited.counted = change.partialColumns(of: schema)
            _ = try lookup.send(change.key, to: edited)
        }
        guard let first = edited.first else { return }
        throw SyncError(
            database: .schemaMismatch, at: "\(path), table \(schema.table)",
            "dataset \(schema.name): the column \(first.type.column) is declared \(first.type.zone) in the zone, which would change edited values of \(Format.count(edited.count, "row")), the first with the key \(first.key); nothing was changed",
            hint:
                "no version has these values: make the table anew with the zone's type and the values that you want, or without a type, which keeps every value; then: snapsync sync \(path.shellWord)"
        )
    }

    /// Refuses keys that the zone's type of their column would change. A device whose table has that type could not store them.
    ///
    /// - Throws: ``SyncError`` with `.schemaMismatch`, naming the first row and how many there are.
    package func refuseOtherKeys(of schema: DatasetSchema, than zone: DatasetDescription) throws {
        guard let table = try TableColumns(db, schema.table) else { return }
        let structure = zone.structure
        let types = schema.keyColumns.compactMap { column -> OtherType? in
            guard let there = zone.column(column.name), let own = table.column(column.column) else { return nil }
            let affinity = ColumnAffinity(declared: there.declared.sql, isStrict: structure.strict)
            let isRowid = structure.primaryKey.map(\.folded) == [there.column.folded] && there.declared == .integer && !structure.withoutRowid
            guard affinity != own.affinity || isRowid && table.rowidAlias == nil else { return nil }
            return OtherType(column: own.name, here: own.declared, zone: there.declared.sql, affinity: affinity, isRowid: isRowid)
        }
        try refuseChangedKeys(by: types, of: schema) { "declare the column as before\(try otherKey(schema))" }
    }

    private func refuseChangedKeys(by types: [OtherType], of schema: DatasetSchema, hint: () throws -> String) throws {
        let names = Set(schema.keyColumns.map(\.column.folded)), keys = types.filter { names.contains($0.column.folded) }
        guard !keys.isEmpty else { return }
        let changed = try ChangedValues(keys, schema)
        let rows = try RowStatement(db, changed.schema, where: "", path: path)
        defer { rows.end() }
        while try rows.step() { try rows.send(to: changed) }
        guard let first = changed.first else { return }
        let here = first.type.here.isEmpty ? "without a type" : first.type.here
        throw SyncError(
            database: .schemaMismatch, at: "\(path), table \(schema.table)",
            "dataset \(schema.name): the key column \(first.type.column) is declared \(here) here and \(first.type.zone) in the zone, which would change the keys of \(Format.count(changed.count, "row")), the first \(first.key); nothing was changed",
            hint: try hint())
    }

    /// Declares columns of a table with the zone's types. The rows, indexes and triggers stay, but for the toolkit's triggers.
    ///
    /// SQLite can change a type only by making the table anew. Source: "Making Other Kinds Of Table Schema Changes" in its documentation.
    package func declare(_ types: [OtherType], in table: String) throws {
        let create = "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?"
        guard let columns = try TableColumns(db, table), let sql = try String.fetchOne(db, sql: create, arguments: [columns.name]) else { return }
        let new = "snapsync_declared", name = columns.name.sqlIdentifier
        let rest = try String.fetchAll(
            db,
            sql: """
                SELECT sql FROM main.sqlite_schema
                WHERE tbl_name = ? AND type IN ('index', 'trigger') AND sql IS NOT NULL AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY rowid
                """, arguments: [columns.name])
        try db.execute(sql: "CREATE TABLE \(new)\(Self.retyped(sql, types))")
        // A new table of AUTOINCREMENT would give the numbers of deleted rows again.
        if try db.hasTable("sqlite_sequence") {
            try db.execute(sql: "INSERT INTO sqlite_sequence SELECT ?, seq FROM sqlite_sequence WHERE name = ?", arguments: [new, columns.name])
        }
        let rowid = columns.rowidName
        let list = ([rowid].compactMap(\.self) + columns.plain.map(\.name)).map(\.sqlIdentifier).joined(separator: ", ")
        try db.execute(sql: "INSERT INTO main.\(new)(\(list)) SELECT \(list) FROM main.\(name); DROP TABLE main.\(name)")
        // Otherwise SQLite refuses the name because views and triggers refer to it.
        let isLegacy = try Bool.fetchOne(db, sql: "PRAGMA legacy_alter_table") ?? false
        try db.execute(sql: "PRAGMA legacy_alter_table = ON")
        defer { if !isLegacy { try? db.execute(sql: "PRAGMA legacy_alter_table = OFF") } }
        try db.execute(sql: "ALTER TABLE main.\(new) RENAME TO \(name)")
        for statement in rest { try db.execute(sql: statement) }
    }

    /// What follows the name in a `CREATE TABLE` statement, with other types for some columns.
    private static func retyped(_ sql: String, _ types: [OtherType]) -> String {
        let source = Array(sql.unicodeScalars), tokens = SQLToken.all(of: source)
        let words = ["constraint", "primary", "not", "null", "unique", "check", "default", "collate", "references", "generated", "as"].map(\.folded)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return "" }
        var text = "", kept = tokens[open].range.lowerBound, depth = 0, isFirst = false, isType = false
        for token in tokens[open...] {
            if token.symbol == ")" { depth -= 1 }
            let isEnd = depth == 0 || depth == 1 && (token.symbol == "," || words.contains(where: token.isWord))
            if isType, isEnd { (kept, isType) = (token.range.lowerBound, false) }
            if isFirst, !isEnd || token.isWord("generated"), let type = types.first(where: { $0.column.folded == (token.name ?? token.text ?? "").folded }) {
                text += "\(SQLToken.text(source[kept..<token.range.upperBound])) \(type.zone) "
                isType = true
            }
            isFirst = depth == 1 && token.symbol == "," || depth == 0 && token.symbol == "("
            if token.symbol == "(" { depth += 1 }
        }
        return text + SQLToken.text(source[kept...])
    }
}

/// Counts the rows with a value that other types would change.
private final class ChangedValues: EntitySink {
    /// The dataset with its key and the columns of the types.
    let schema: DatasetSchema
    /// The columns that count in the next row, by their positions in the whole description; nil for all.
    var counted: Set<Int>?
    private(set) var count = 0
    /// The first such row, and the type of the first such column in it.
    private(set) var first: (key: String, type: OtherType)?
    private let columns: [(index: Int, position: Int, type: OtherType)]

    init(_ types: [OtherType], _ schema: DatasetSchema) throws {
        func other(_ position: Int) -> OtherType? { types.first { $0.column.folded == schema.columns[position].column.folded } }
        let positions = schema.columns.indices.filter { schema.keyIndices.contains($0) || other($0) != nil }
        self.schema = try schema.with(columns: positions.map { schema.columns[$0] })
        columns = positions.indices.compactMap { index in
            other(positions[index]).map { (index: index, position: positions[index], type: $0) }
        }
    }

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) {
        guard let one = columns.first(where: { counted?.contains($0.position) != false && $0.type.changes(values[$0.index]) }) else { return }
        count += 1
        if first == nil { first = (schema.key(of: values)?.description ?? "NULL", one.type) }
    }
}

extension DatasetDescription {
    /// The table's column with that name in the JSON.
    fileprivate func column(_ name: String) -> TableStructure.Column? {
        schema.columns.first { $0.name.exact == name.exact }.flatMap { structure.column($0.column) }
    }
}

/// Switches the toolkit's tables to another description of a dataset, in one transaction, without losing a tracked change.
package struct SchemaTransition: TransactionPart {
    let transaction: LocalTransaction

    /// Switches from one description to another of the same dataset with the same key.
    ///
    /// Consolidates the log first. If the triggers were as expected, replaces them and keeps the tracking complete. Rows with values in new
    /// columns count as changed here, as they do after an import of a version without the columns; at a reader only if the version lacks them.
    ///
    /// - Parameters:
    ///   - before: the previous description, with the names that the table and its columns have now.
    ///   - after: the new description.
    ///   - publishes: whether this device publishes.
    ///   - codec: reads held rows.
    package func adopt(_ before: DatasetSchema, as after: DatasetSchema, publishes: Bool, codec: EntityCodec) throws {
        let names = Set(before.columns.map(\.name.exact)), added = after.columns.filter { !names.contains($0.name.exact) }
        let remaining = Set(after.columns.map(\.name.exact)), removed = names.subtracting(remaining), new = remaining.subtracting(names)
        let both = try after.with(columns: after.columns.filter { names.contains($0.name.exact) })
        if try transaction.hasTrackingTables(), try trackingID(before) != nil {
            try transaction.changeLog.consolidate(of: [both])
            try transaction.tracking.replaceTriggers(of: before, with: after)
            try transaction.changeLog.renumberColumns(of: before, as: after)
        }
        let gone = try transaction.state.removedColumns(of: after).union(removed).subtracting(new)
        try transaction.state.removedColumns.set(gone, of: after)
        // A removed column that still exists here was removed on another device. One that the application dropped and later adds again counts as
        // new.
        let here = Set(try transaction.tables.differences(from: after).newColumns.map(\.exact))
        let left = try transaction.state.leftColumns(of: after).union(before.columns.filter { removed.contains($0.name.exact) }.map(\.column.exact))
        try transaction.state.leftColumns.set(left.intersection(here), of: after)
        let kept = before.columns.indices.filter { removed.contains(before.columns[$0].name.exact) && here.contains(before.columns[$0].column.exact) }
        if !kept.isEmpty { try keepHeld(kept, of: before, codec) }
        guard try transaction.state.applied() != nil, let state = try transaction.datasetStates.all().first(where: { $0.name == after.name }) else { return }
        try transaction.state.describedColumns.set(transaction.state.describedColumns(of: after).subtracting(new), of: after)
        let unseen = new.intersection(state.unknownFields.map(\.exact))
        let known = Set(try transaction.state.missingColumns(of: after).map(\.exact))
        // The instants in a change asset depend on the choice of the timestamp, so after another choice the next version is a snapshot asset.
        let isRestamped = before.timestamp?.exact != after.timestamp?.exact || before.timestampUnit != after.timestampUnit
        let restamped = isRestamped && publishes ? [before.timestamp ?? after.timestamp].compactMap { $0?.exact } : []
        // No reader misses a column that no version has had.
        let missing = known.union(new).subtracting(unseen).union(removed).subtracting(known.intersection(removed))
            .union(restamped)
        try transaction.state.missingColumns.set(missing.sorted().map(\.text), of: after)
        try transaction.state.unseenColumns.set(
            transaction.state.unseenColumns(of: after).union(unseen).subtracting(removed), of: after)
        try transaction.datasetStates.set(
            DatasetState(
                name: state.name, syncTimestamp: state.syncTimestamp, recordCount: state.recordCount,
                unknownFields: state.unknownFields.filter { !unseen.contains($0.exact) }))
        if let id = try trackingID(after), !unseen.isEmpty {
            // What an edit of a whole row has in a column that the version has as well is no edit.
            let columns = after.columns.indices.filter { !unseen.contains(after.columns[$0].name.exact) }.map(String.init).joined(separator: " ")
            try db.execute(
                sql: "UPDATE snapsync_changes SET changed = ? WHERE dataset = ? AND changed IS NULL AND isNew <> \(TrackedOrigin.new)",
                arguments: [columns, id])
        }
        // Where the version has values as well, they count as later.
        for (columns, order) in [
            (added.filter { unseen.contains($0.name.exact) }, CarriedColumns.Order.before), (added.filter { !unseen.contains($0.name.exact) }, .after),
        ] {
            try CarriedColumns.track(columns, of: after, in: transaction, order: order, as: CarriedColumns.cause(publishes: publishes))
        }
    }

    /// Keeps the values that held rows have in columns that are no longer synced and stay in the table, as those of rows in the table stay.
    private func keepHeld(_ columns: [Int], of schema: DatasetSchema, _ codec: EntityCodec) throws {
        guard let id = try trackingID(schema) else { return }
        try LocalTable.own.create(in: db)
        let insert = "INSERT OR REPLACE INTO snapsync_own(dataset, key, name, value, at) VALUES(?, ?, ?, ?, \(LogSQL.clock) * 1000)"
        for (place, row) in try TableVersion(transaction, of: [schema], codec, own: nil).heldRows() {
            for column in columns where row.values[column] != .null {
                try KeyedStatement(db, insert).bind(.integer(id), .key(place.key), .text(schema.columns[column].column), .value(row.values[column])).run()
            }
        }
    }

    /// Switches to a description that has other JSON names for some columns.
    package func rename(_ before: DatasetSchema, as after: DatasetSchema) throws {
        let names = Dictionary(uniqueKeysWithValues: zip(before.columns.map(\.name.exact), after.columns.map(\.name)))
        try transaction.state.missingColumns.set(transaction.state.missingColumns(of: before).map { names[$0.exact] ?? $0 }, of: after)
    }

    /// Ends the tracking of a dataset that this device no longer syncs. Its rows stay.
    package func end(_ schema: DatasetSchema) throws {
        try transaction.tracking.remove(schema)
        try transaction.waiting.remove(of: schema)
        try transaction.state.forget(schema)
        try transaction.state.takenOut.set(transaction.state.takenOut().subtracting([schema.name.exact]))
        try db.execute(sql: "DELETE FROM snapsync_datasets WHERE name = ?", arguments: [schema.name])
    }
}
