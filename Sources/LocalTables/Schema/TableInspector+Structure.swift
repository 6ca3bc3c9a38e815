import GRDB
package import SnapshotModel
import StrictText

// The structure of a dataset's table: read from this database, or created here from a zone's description.
extension TableInspector {
    /// The structure of a dataset's table.
    ///
    /// - Parameter datasets: the datasets that are synced. Foreign keys to other tables are left out.
    package func structure(of schema: DatasetSchema, among datasets: [DatasetSchema]) throws -> TableStructure {
        guard let table = try TableColumns(db, schema.table) else {
            throw SyncError(database: .schemaMismatch, at: "\(path), table \(schema.table)", "dataset \(schema.name): there is no such table")
        }
        let described = Set(schema.columns.map { $0.column.folded })
        func areDescribed(_ names: [String]) -> Bool { names.allSatisfy { described.contains($0.folded) } }
        let indexes = try UniqueIndex.all(db, of: table.name)
        // INTEGER PRIMARY KEY DESC is not the rowid; like INT PRIMARY KEY, it has an index.
        let isIndexed = table.primaryKey.count == 1 && !table.isWithoutRowid && indexes.contains { $0.isPrimary }
        let unique = indexes.filter { $0.isPlain && !$0.isPrimary }.compactMap { index -> TableStructure.Unique? in
            let parts = index.distinct, columns = parts.compactMap(\.name)
            let collations = parts.compactMap { TableStructure.Collation(rawValue: $0.collation.folded.text) }
            guard areDescribed(columns), collations.count == columns.count, TableStructure.areDistinct(columns) else { return nil }
            return TableStructure.Unique(columns: columns, collations: collations)
        }.prefix(TableStructure.constraintLimit)
        let deferred = try DeferredKeys(db, of: table.name)
        let references = try transaction.references.foreignKeys().filter { $0.child.folded == table.name.folded }.compactMap {
            key -> TableStructure.Reference? in
            guard let parent = datasets.first(where: { $0.table.folded == key.parent.folded }), areDescribed(key.columns.map(\.child)),
                TableStructure.areDistinct(key.columns.map(\.child))
            else { return nil }
            // A foreign key to columns that are not unique in the parent is SQLite's "foreign key mismatch". Do not create tables with one.
            let parentColumns = Set(parent.columns.map { $0.column.folded }), named = Set(key.columns.map(\.parent.folded))
            guard parentColumns.isSuperset(of: named), try isUnique(named, in: parent.table) else { return nil }
            return TableStructure.Reference(
                columns: key.columns.map(\.child), parent: parent.name, parentColumns: key.columns.map(\.parent), onDelete: action(key.onDelete),
                onUpdate: action(key.onUpdate), deferred: deferred.contains(key.columns.map(\.child), parent: key.parent) ? true : nil)
        }.prefix(TableStructure.constraintLimit)
        let primary = table.primaryKey.map(\.name)
        return TableStructure(
            columns: try table.columns.filter { described.contains($0.name.folded) }.map { column in
                let declared = column.structureType(isStrict: table.isStrict)
                return TableStructure.Column(
                    column: column.name, declared: isIndexed && column.keyPlace > 0 && declared == .integer ? .int : declared, notNull: column.isNotNull,
                    collation: TableStructure.Collation(rawValue: column.collation.folded.text) ?? .binary, default: try literalDefault(of: column))
            },
            primaryKey: areDescribed(primary) ? primary : [], autoincrement: try hasAutoincrement(schema), withoutRowid: table.isWithoutRowid,
            strict: table.isStrict, unique: Array(unique), references: Array(references))
    }

    private func isUnique(_ columns: Set<ExactText>, in table: String) throws -> Bool {
        guard let parent = try TableColumns(db, table) else { return false }
        if Set(parent.primaryKey.map(\.name.folded)) == columns { return true }
        return try UniqueIndex.all(db, of: table).contains { $0.isPlain && Set($0.parts.compactMap { $0.name?.folded }) == columns }
    }

    /// A number that changes with every change of the database's schema by any program.
    package func schemaVersion() throws -> Int64 { try KeyedStatement(db, "PRAGMA schema_version").integer() ?? 0 }

    /// Whether a table of that name exists.
    package func exists(_ table: String) throws -> Bool { try db.hasTable(table) }

    /// The default of a column, if it is a value or the time. An expression is only in the table's SQL text.
    private func literalDefault(of column: TableColumns.Column) throws -> TableStructure.Default? {
        guard !column.isGenerated, let text = column.defaultText else { return nil }
        var tokens = SQLToken.all(of: Array(text.unicodeScalars))[...]
        while tokens.first?.symbol == "(", tokens.last?.symbol == ")" { tokens = tokens.dropFirst().dropLast() }
        if let sign = tokens.first?.symbol, sign == "-" || sign == "+" { tokens.removeFirst() }
        guard let first = tokens.first else { return nil }
        let isBlob = tokens.count == 2 && first.isWord("x") && tokens[tokens.startIndex + 1].text != nil
        let word = first.quote == nil ? first.name?.folded : nil
        let literal: TableLiteral
        if isBlob || tokens.count == 1 && (first.isNumber || word == "true" || word == "false") {
            switch try DatabaseValue.fetchOne(db, sql: "SELECT \(text)")?.storage {
            case .int64(let value): literal = .integer(value)
            case .double(let value): literal = .real(value)
            case .blob(let value): literal = .blob(value)
            default: return nil
            }
        } else if tokens.count == 1, let word, word.hasPrefix("current_") {
            return TableStructure.CurrentTime(rawValue: String(word.text.dropFirst(8))).map { .current($0) }
        } else if tokens.count == 1, word != "null", let value = first.text ?? first.name {
            // To SQLite, a name is a text here.
            literal = .text(value.exact)
        } else {
            return nil
        }
        return literal.fault == nil ? .literal(literal) : nil
    }

    private func action(_ text: String) -> TableStructure.Action {
        TableStructure.Action.allCases.first { $0.sql == text.upper } ?? .noAction
    }

    /// Creates the tables of descriptions that are missing here. Returns their names.
    ///
    /// The statements consist only of quoted names and of the words of ``TableStructure``, never of SQL text from elsewhere.
    ///
    /// - Parameter parents: datasets that exist here already, and that the tables may refer to.
    package func create(_ descriptions: [DatasetDescription], besides parents: [DatasetSchema] = []) throws -> [String] {
        let known = descriptions.map(\.schema) + parents
        let tables = Dictionary(known.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
        var made: [String] = []
        for one in descriptions {
            // A view of that name is reported when the table is checked.
            let isThere = try KeyedStatement(db, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE)")
                .bind(.text(one.schema.table)).integer()
            if isThere == 1 { continue }
            try db.execute(sql: one.structure.definition(of: one.schema.table, tables: tables))
            made.append(one.schema.table)
        }
        return made
    }

    /// A dataset as the zone describes it, by the names that this database's table has: a device that has renamed a column publishes its own name, and
    /// here the column may have the name that it has in the JSON.
    package func byOwnNames(_ schema: DatasetSchema) throws -> DatasetSchema {
        // What is no table is for the check of the table to name.
        guard try db.hasTable(schema.table), let table = try TableColumns(db, schema.table) else { return schema }
        let taken = Set(schema.columns.map(\.column).filter { table.column($0) != nil }.map(\.folded))
        let columns = schema.columns.map { column -> DatasetColumn in
            guard table.column(column.column) == nil, !RowidName.all.contains(where: { $0.exact == column.column.folded }), let own = table.column(column.name),
                !taken.contains(own.name.folded)
            else { return column }
            return DatasetColumn(column.name, column.shape, column: own.name, isOptional: column.isOptional, collation: column.collation)
        }
        return columns == schema.columns ? schema : try schema.with(columns: columns)
    }

    /// The rows that break a CHECK constraint of a dataset's table.
    ///
    /// - Returns: each broken constraint as it was written, with how many rows break it and the first keys of them.
    package func rowsBreakingChecks(of schema: DatasetSchema, keys limit: Int) throws -> [(check: String, count: Int, keys: [EntityKey])] {
        guard let table = try TableColumns(db, schema.table) else { return [] }
        return try table.checks(db).compactMap { check in
            // NULL passes. The text is this database's own.
            let broken = "FROM main.\(schema.table.sqlIdentifier) WHERE NOT (\(check))"
            let count: Int
            do {
                count = try Int.fetchOne(db, sql: "SELECT count(*) \(broken)") ?? 0
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                // It needs what only the application has, which the table's own findings say.
                return nil
            }
            guard count > 0 else { return nil }
            let keys = try KeyedStatement(db, "SELECT \(schema.keySQL.value(of: schema.table.sqlIdentifier)) \(broken) LIMIT \(limit)").bind().keys()
            return (check, count, keys)
        }
    }

    /// Checks that a table can hold the rows that a description permits.
    ///
    /// - Throws: ``SyncError`` with `.schemaMismatch`, naming the column.
    package func check(_ description: DatasetDescription) throws {
        let schema = description.schema
        guard let table = try TableColumns(db, schema.table) else { return }
        for (index, column) in schema.columns.enumerated() {
            guard let own = table.column(column.column), let other = description.structure.column(column.column) else { continue }
            guard !own.affinity.spoils(ColumnAffinity(declared: other.declared.sql, isStrict: description.structure.strict)) else {
                throw SyncError(
                    database: .schemaMismatch, at: "\(path), table \(table.name)",
                    "dataset \(schema.name): the column \(own.name) is declared \(own.declared) here and \(other.declared.sql) in the zone's description, so SQLite would change its values",
                    hint: "declare the column as the zone does, or without a type, which keeps every value")
            }
            guard own.isNotNull, !other.notNull, column.isOptional, !schema.keyIndices.contains(index) else { continue }
            throw SyncError(
                database: .schemaMismatch, at: "\(path), table \(table.name)",
                "dataset \(schema.name): the column \(own.name) is NOT NULL here, and the zone's description lets it be NULL",
                hint: "change the table, or let snapsync join make it in a database that does not have it")
        }
    }
}

extension TableColumns.Column {
    /// The type to declare for the column when another device creates the table.
    fileprivate func structureType(isStrict: Bool) -> TableStructure.DeclaredType {
        switch affinity {
        case .integer: declaredName == "integer" ? .integer : .int
        case .text: .text
        case .real: .real
        case .blob: isStrict && declaredName == "any" ? .any : declared.isEmpty ? .untyped : .blob
        case .numeric:
            [.boolean, .date, .datetime, .timestamp, .time, .decimal, .json].first { $0.rawValue == declaredName }
                ?? (declaredName == "bool" ? .boolean : .numeric)
        }
    }
}

extension TableStructure {
    /// The `CREATE TABLE` statement.
    ///
    /// - Parameter tables: all datasets by name. Foreign keys to columns that have other names here are left out.
    fileprivate func definition(of table: String, tables: [String: DatasetSchema]) -> String {
        func list(_ names: [String]) -> String { names.map(\.sqlIdentifier).joined(separator: ", ") }
        let rowid = primaryKey.count == 1 && !withoutRowid ? column(primaryKey[0]).flatMap { $0.declared == .integer ? $0 : nil } : nil
        var parts = columns.map { column -> String in
            var words = [column.column.sqlIdentifier, column.declared.sql]
            if column == rowid { words.append("PRIMARY KEY\(autoincrement ? " AUTOINCREMENT" : "")") }
            if column.notNull { words.append("NOT NULL") }
            if column.collation != .binary { words.append("COLLATE \(column.collation.rawValue.uppercased())") }
            if let value = column.default { words.append("DEFAULT \(value.sql)") }
            return words.filter { !$0.isEmpty }.joined(separator: " ")
        }
        if rowid == nil, !primaryKey.isEmpty { parts.append("PRIMARY KEY(\(list(primaryKey)))") }
        for unique in unique {
            let columns = zip(unique.columns, unique.collations).map { "\($0.sqlIdentifier) COLLATE \($1.rawValue.uppercased())" }
            parts.append("UNIQUE(\(columns.joined(separator: ", ")))")
        }
        for reference in references {
            guard let parent = tables[reference.parent],
                reference.parentColumns.allSatisfy({ name in parent.columns.contains { $0.column.folded == name.folded } })
            else { continue }
            var part = "FOREIGN KEY(\(list(reference.columns))) REFERENCES \(parent.table.sqlIdentifier)(\(list(reference.parentColumns)))"
            if reference.onDelete != .noAction { part += " ON DELETE \(reference.onDelete.sql)" }
            if reference.onUpdate != .noAction { part += " ON UPDATE \(reference.onUpdate.sql)" }
            if reference.deferred == true { part += " DEFERRABLE INITIALLY DEFERRED" }
            parts.append(part)
        }
        let options = [withoutRowid ? "WITHOUT ROWID" : nil, strict ? "STRICT" : nil].compactMap { $0 }.joined(separator: ", ")
        return "CREATE TABLE \(table.sqlIdentifier)(\(parts.joined(separator: ", ")))\(options.isEmpty ? "" : " " + options)"
    }
}

/// The foreign keys of a table that SQLite checks at the end of a transaction. No PRAGMA says which, only the table's SQL.
struct DeferredKeys {
    /// The columns and the parent of each, by their folded names.
    private var found: Set<[ExactText]> = []

    init(_ db: Database, of table: String) throws {
        for definition in try CreateText(db, of: "table", table)?.parts ?? [] {
            // The tokens without those in brackets, but the columns of FOREIGN KEY.
            var part: [SQLToken] = [], columns: [String] = [], parent: String?, depth = 0
            for token in definition {
                if token.symbol == ")" { depth -= 1 }
                if depth == 1, parent == nil, let name = token.name ?? token.text { columns.append(name) }
                if token.symbol == "(" { depth += 1 }
                guard depth == 0 else { continue }
                // Commas between the constraints of a table may be left out.
                if token.isWord("foreign") { (columns, parent) = ([], nil) }
                if part.last?.isWord("references") == true {
                    parent = token.name ?? token.text
                    if !part.contains(where: { $0.isWord("foreign") }) { columns = [part.first?.name ?? part.first?.text].compactMap { $0 } }
                }
                part.append(token)
                guard let parent, part.suffix(3).map({ $0.name?.folded }) == ["deferrable", "initially", "deferred"],
                    part.dropLast(3).last?.isWord("not") != true
                else { continue }
                found.insert((columns + [parent]).map(\.folded))
            }
        }
    }

    func contains(_ columns: [String], parent: String) -> Bool { found.contains((columns + [parent]).map(\.folded)) }
}
