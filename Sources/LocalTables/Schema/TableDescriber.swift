import Foundation
import GRDB
package import SnapshotModel
import StrictText

/// Derives the descriptions of datasets from a database: names, keys, the order of the tables, the timestamp columns.
///
///     let description = try transaction.describer.describe(DescriptionRequest(skipped: ["cache"]))
///
/// Writes nothing. Of a table's rows it reads the first ones, to find the timestamp column.
package struct TableDescriber: TransactionPart {
    package let transaction: LocalTransaction

    /// Describes tables.
    ///
    /// - Throws: ``SyncError`` with `.schemaMismatch` if the request names a table or column that does not exist.
    package func describe(_ request: DescriptionRequest) throws -> DatabaseDescription {
        let catalog = try TableCatalog(db)
        var description = DatabaseDescription()
        let chosen = try choose(request, from: catalog, noting: &description)
        var datasets: [DatasetSchema] = []
        for table in chosen {
            guard let columns = try TableColumns(db, table) else { continue }
            let given = request.timestamps.last { $0.table.folded == table.folded }
            switch try describe(columns, named: DatasetSchema.name(ofTable: table), given: given.map { .some($0.column) } ?? nil, &description) {
            case .dataset(let schema): datasets.append(schema)
            case .unfit(let reasons): description.unfit.append(DatabaseDescription.UnfitTable(table: table, reasons: reasons))
            }
        }
        description.datasets = try sorted(datasets)
        description.noteTables()
        try notesOnParents(&description, catalog)
        return description
    }

    /// Describes columns that were added to a dataset's table.
    ///
    /// - Parameter names: the table's columns.
    package func columns(_ names: [String], of schema: DatasetSchema) throws -> [DatasetColumn] {
        guard !names.isEmpty, let table = try TableColumns(db, schema.table)?.only(names) else { return [] }
        var taken = Set(schema.columns.map(\.name.exact))
        return table.columns.filter { !$0.isGenerated }.map { column in
            var name = column.name, number = 2
            while !taken.insert(name.exact).inserted {
                name = "\(column.name)_\(number)"
                number += 1
            }
            return DatasetColumn(name, column: column.name)
        }
    }

    /// Chooses another timestamp for a dataset.
    ///
    /// - Parameter given: the column, as ``GivenTimestamp`` reads it; nil for none.
    package func choosing(_ given: String?, for schema: DatasetSchema) throws -> DatasetSchema {
        guard let given else { return try schema.with { ($0.timestamp, $0.timestampUnit) = (nil, nil) } }
        guard let table = try TableColumns(db, schema.table) else { return schema }
        let wanted = try GivenTimestamp(given, in: table, at: path)
        let found = try findTimestamp(of: TimestampColumn(db, table: table, references: references(of: table), wanted: wanted.column), given: .some(wanted))
        guard let column = schema.columns.first(where: { $0.column.folded == wanted.column.folded }) else {
            throw SyncError(
                database: .schemaMismatch, at: "\(path), table \(table.name)", "the column \(wanted.column) is not synced", hint: "name another column")
        }
        return try schema.with { ($0.timestamp, $0.timestampUnit) = (column.name, found.unit) }
    }

    /// The application's own tables, in the order in which they were created.
    package func applicationTables() throws -> [String] { try TableCatalog(db).tables }
}

extension TableDescriber {
    /// The tables to describe. Records those that are left out.
    private func choose(_ request: DescriptionRequest, from catalog: TableCatalog, noting description: inout DatabaseDescription) throws -> [String] {
        func find(_ name: String) throws -> String {
            if let table = catalog.tables.first(where: { $0.folded == name.folded }) { return table }
            let lowercased = name.folded
            let reason: String
            if catalog.virtual.contains(where: { $0.folded == lowercased }) {
                reason = "\(name) is a virtual table, which is not synced"
            } else if let owner = catalog.shadows.first(where: { $0.key.text.folded == lowercased })?.value {
                reason = "\(name) belongs to the virtual table \(owner), which is not synced"
            } else if catalog.views.contains(where: { $0.text.folded == lowercased }) {
                reason = "\(name) is a view, which is not synced"
            } else {
                reason = "there is no table \(name)"
            }
            let known = catalog.tables.isEmpty ? "the database has no tables of an application" : "the tables are \(catalog.tables.joined(separator: ", "))"
            throw SyncError(database: .schemaMismatch, at: path, reason, hint: "correct the name: \(known)")
        }
        let skipped = Set(
            try request.skipped.compactMap { name -> ExactText? in
                // Virtual tables are left out anyway, so naming one is not an error.
                if catalog.virtual.contains(where: { $0.folded == name.folded }) { return nil }
                return try find(name).exact
            })
        let wanted = Set(try request.tables.map { try $0.map { try find($0).exact } } ?? catalog.tables.map(\.exact))
        for (table, _) in request.timestamps {
            let name = try find(table).exact
            guard wanted.contains(name), !skipped.contains(name) else {
                throw SyncError(database: .schemaMismatch, at: path, "the table \(name) is not synced", hint: "correct --timestamp")
            }
        }
        for name in catalog.tables where skipped.contains(name.exact) {
            description.leftOut.append(.init(table: name, column: nil, reason: "skipped"))
        }
        if request.tables == nil {
            for name in catalog.virtual {
                description.leftOut.append(
                    .init(table: name, column: nil, reason: "a virtual table; its contents follow from other tables or belong to the application"))
            }
            for name in catalog.guessed {
                description.leftOut.append(
                    .init(table: name, column: nil, reason: "by its name it belongs to the virtual table \(catalog.shadows[name.exact] ?? name)"))
            }
        }
        return catalog.tables.filter { wanted.contains($0.exact) && !skipped.contains($0.exact) }
    }

    private enum Outcome {
        case dataset(DatasetSchema)
        case unfit([String])
    }

    private func describe(_ table: TableColumns, named name: String, given: String??, _ description: inout DatabaseDescription) throws -> Outcome {
        var reasons: [String] = []
        let stored = table.columns.filter { !$0.isGenerated }
        for column in table.columns where !DatasetSchema.isIdentifier(column.name) {
            reasons.append("a column's name is empty, longer than 128 bytes or holds control characters")
        }
        if !DatasetSchema.isIdentifier(table.name) { reasons.append("the table's name is empty, longer than 128 bytes or holds control characters") }
        if stored.count > DatasetSchema.columnLimit {
            reasons.append("it has \(stored.count) columns; a dataset has at most \(DatasetSchema.columnLimit)")
        }
        guard reasons.isEmpty else { return .unfit(reasons) }

        let wanted = try given.flatMap { try $0.map { try GivenTimestamp($0, in: table, at: path) } }
        let timestamps: TimestampColumn, key: Key
        do {
            // Without the collation of its key, a table cannot be read at all.
            key = try findKey(of: table)
            if case .none(let why) = key { return .unfit([why]) }
            _ = try db.makeStatement(sql: "SELECT \(stored.map(\.name.sqlIdentifier).joined(separator: ", ")) FROM \(table.name.sqlIdentifier)")
            timestamps = try TimestampColumn(db, table: table, references: references(of: table), wanted: wanted?.column)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // SQLite cannot read this table without the application's functions. Other tables may be readable.
            return .unfit(["its rows cannot be read: \(error.message ?? error.description)"])
        }
        var columns: [DatasetColumn] = []
        for column in stored {
            let isKey = key.columns.contains { $0.name.exact == column.name.exact }
            columns.append(DatasetColumn(column.name, collation: isKey ? KeyCollation(rawValue: column.collation.folded.text) ?? .binary : .binary))
        }
        if case .rowid(let name) = key {
            columns.insert(DatasetColumn(name), at: 0)
            description.carriedByRowid.append(table.name)
        }
        for column in table.columns where column.isGenerated {
            description.leftOut.append(
                .init(table: table.name, column: column.name, reason: "generated: it follows from other columns; a table that snapsync join makes lacks it"))
        }
        let timestamp = try findTimestamp(of: timestamps, given: given.map { _ in wanted })
        do {
            let schema = try DatasetSchema(name: name, table: table.name, keys: key.names, timestamp: timestamp.column, columns: columns) {
                $0.timestampUnit = timestamp.unit
            }
            _ = try transaction.tables.check(of: schema)
            description.timestamps.append(timestamp)
            if timestamp.column == nil, !timestamp.isGiven {
                for column in timestamp.others where timestamps.mayHoldNumbers(column) { description.unclearTimestamps.append((table.name, column)) }
            }
            return .dataset(schema)
        } catch let error as SchemaError {
            return .unfit([error.reason])
        } catch let error as SyncError where error.database == .schemaMismatch {
            let prefix = "dataset \(name): "
            return .unfit([error.reason.exact.hasPrefix(prefix) ? String(error.reason.dropFirst(prefix.count)) : error.reason])
        }
    }

    private enum Key {
        case columns([TableColumns.Column])
        /// The rowid, under a name that no column has.
        case rowid(String)
        case none(String)

        var columns: [TableColumns.Column] { if case .columns(let columns) = self { columns } else { [] } }

        var names: [String] {
            switch self {
            case .columns(let columns): columns.map(\.name)
            case .rowid(let name): [name]
            case .none: []
            }
        }
    }

    private func references(of table: TableColumns) throws -> Set<ExactText> {
        Set(
            try transaction.references.foreignKeys().filter { $0.child.folded == table.name.folded }
                .flatMap { $0.columns.map(\.child.folded) })
    }

    /// The columns that identify a row: the PRIMARY KEY, else NOT NULL columns with a UNIQUE index, else the rowid.
    private func findKey(of table: TableColumns) throws -> Key {
        let primary = table.primaryKey
        let isRowid = primary.count == 1 && !table.isWithoutRowid && primary[0].declared.folded == "integer"
        // Without the collation of its key, SQLite cannot read the rows of a table in key order.
        func foreign(_ columns: [TableColumns.Column]) -> Key? {
            columns.first { KeyCollation(rawValue: $0.collation.folded.text) == nil }.map {
                .none("the key column \($0.name) is compared by the collation \($0.collation), which is not SQLite's own")
            }
        }
        if !isRowid, let refusal = foreign(primary) { return refusal }
        // SQLite allows NULL in a PRIMARY KEY. The key's index finds it in the first column; the export names it in any.
        if let first = primary.first, !first.isNotNull, !table.isWithoutRowid,
            try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(table.name.sqlIdentifier) WHERE \(first.name.sqlIdentifier) IS NULL)") == true
        {
            return .none("a row has NULL in the key column \(first.name)")
        }
        if !primary.isEmpty { return .columns(primary) }
        var best: [TableColumns.Column] = []
        for index in try UniqueIndex.all(db, of: table.name) where index.isPlain {
            let parts = index.distinct, columns = parts.compactMap { $0.name.flatMap { table.column($0) } }
            guard columns.count == parts.count, columns.allSatisfy({ $0.isNotNull && !$0.isGenerated }), columns.map(\.collation) == parts.map(\.collation),
                TableStructure.areDistinct(columns.map(\.name))
            else { continue }
            if best.isEmpty || columns.count < best.count { best = columns }
        }
        if !best.isEmpty { return foreign(best) ?? .columns(best) }
        guard let name = RowidName.all.first(where: { table.column($0) == nil }) else {
            return .none("it has no PRIMARY KEY, no UNIQUE columns that are NOT NULL, and columns that hide its rowid")
        }
        return .rowid(name)
    }

    private func findTimestamp(of finder: TimestampColumn, given: GivenTimestamp??) throws -> DatabaseDescription.Timestamp {
        let candidates = finder.candidates
        func found(_ column: String?, _ unit: TimestampUnit?, isGiven: Bool) -> DatabaseDescription.Timestamp {
            .init(table: finder.table.name, column: column, unit: unit, isGiven: isGiven, others: candidates.filter { $0.exact != column?.exact })
        }
        guard let given else {
            let column = candidates.first { finder.refusal(of: $0) == nil }
            return found(column, column.flatMap { finder.unit(of: $0) }, isGiven: false)
        }
        guard let wanted = given else { return found(nil, nil, isGiven: true) }
        let column = wanted.column
        if let why = finder.refusal(of: column, checksValues: false) {
            throw SyncError(
                database: .schemaMismatch, at: "\(path), table \(finder.table.name)", "the column \(column) cannot be the timestamp: it \(why)",
                hint: "name another column, or none: --timestamp \(finder.table.name)=none")
        }
        return found(column, try unit(of: wanted, finder), isGiven: true)
    }

    /// The unit of the numbers in a column that the caller named; nil if only text counts there.
    private func unit(of wanted: GivenTimestamp, _ finder: TimestampColumn) throws -> TimestampUnit? {
        let column = wanted.column
        if let unit = wanted.unit ?? finder.unit(of: column) { return unit }
        guard finder.mayHoldNumbers(column) else { return nil }
        let fitting = finder.units(of: column).map(\.rawValue), names = TimestampUnit.allCases.map(\.rawValue)
        throw SyncError(
            database: .schemaMismatch, at: "\(path), table \(finder.table.name)",
            "the rows do not say what the numbers in the column \(column) count\(fitting.isEmpty ? "" : ": they fit \(fitting.joined(separator: " and "))")",
            hint: "say the unit, one of \(names.joined(separator: ", ")): --timestamp \(finder.table.name)=\(column):UNIT")
    }

    /// The datasets with parents before children. Tables that refer to one another in a cycle keep the order in which they were created.
    package func sorted(_ datasets: [DatasetSchema]) throws -> [DatasetSchema] {
        let byTable = Dictionary(datasets.map { ($0.table.folded, $0) }, uniquingKeysWith: { first, _ in first })
        var parents: [ExactText: [ExactText]] = [:]
        for key in try transaction.references.foreignKeys() { parents[key.child.folded, default: []].append(key.parent.folded) }
        var sorted: [DatasetSchema] = []
        var seen: Set<ExactText> = []
        func visit(_ schema: DatasetSchema) {
            guard seen.insert(schema.table.folded).inserted else { return }
            for parent in parents[schema.table.folded] ?? [] { if let schema = byTable[parent] { visit(schema) } }
            sorted.append(schema)
        }
        for schema in datasets { visit(schema) }
        return sorted
    }

    /// Adds a note for each table that refers to a table that is not synced, because a reader does not have those parent rows.
    private func notesOnParents(_ description: inout DatabaseDescription, _ catalog: TableCatalog) throws {
        let travelling = Set(description.datasets.map { $0.table.folded })
        var said: Set<[ExactText]> = []
        for key in try transaction.references.foreignKeys()
        where travelling.contains(key.child.folded) && !travelling.contains(key.parent.folded)
            && said.insert([key.child.exact, key.parent.exact]).inserted
        {
            description.notes.append("\(key.child) refers to \(key.parent), which is not synced")
        }
    }
}

extension DatasetSchema {
    /// The name of the dataset that a table becomes: letters, digits and `_`, beginning with a letter.
    ///
    /// It depends on the table's name alone, because each device makes it for itself: the tables of one name are one dataset everywhere. Where it
    /// is not the table's whole name, a hash of that name is part of it, so that no other table gets it.
    static func name(ofTable table: String) -> String {
        var name = ""
        for scalar in table.decomposedStringWithCanonicalMapping.unicodeScalars {
            if scalar.isASCII, scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "_" {
                name.unicodeScalars.append(scalar)
            } else if scalar.properties.canonicalCombiningClass == .notReordered {
                name += "_"
            }
        }
        if name.first?.isLetter != true { name = "t" + (name.exact.hasPrefix("_") ? "" : "_") + name }
        // The record's name is five characters longer.
        if name.exact == table.exact, name.utf8.count <= 55, !DatasetSchema.reservedNames.contains(name.exact) { return name }
        // FNV-1a.
        let hash = table.folded.text.utf8.reduce(0x811C_9DC5 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return name.prefix(46) + "_" + "0000000\(String(hash, radix: 16))".suffix(8)
    }
}

/// The tables of a database by kind: the application's own, virtual tables, and the tables that belong to these.
struct TableCatalog {
    var tables: [String] = []
    var virtual: [String] = []
    var shadows: [ExactText: String] = [:]
    var views: Set<ExactText> = []
    /// The virtual tables whose module only the application has.
    private var unknown: [String] = []
    /// The tables that seem to belong to such a virtual table by their names.
    private(set) var guessed: [String] = []

    init(_ db: Database) throws {
        var kinds: [ExactText: String] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT name, type FROM pragma_table_list WHERE schema = 'main'") { kinds[(row[0] as String).exact] = row[1] }
        let names = try String.fetchAll(db, sql: "SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")
        virtual = names.filter { kinds[$0.exact] == "virtual" }
        // A library without the pragma knows nothing of any module.
        let modules = Set((try? String.fetchAll(db, sql: "SELECT lower(name) FROM pragma_module_list").map(\.exact)) ?? [])
        unknown = try virtual.filter { try Self.module(of: $0, db).map { !modules.contains($0) } ?? true }
        for name in names where !name.folded.hasPrefix("sqlite_") && !name.folded.hasPrefix("snapsync_") {
            switch kinds[name.exact] {
            case "view": views.insert(name.exact)
            case "virtual": break
            case "shadow": shadows[name.exact] = owner(of: name) ?? name
            default:
                // SQLite reports the shadow tables of such a virtual table as ordinary tables.
                guard let owner = owner(of: name), unknown.contains(where: { $0.exact == owner.exact }),
                    Self.isShadowName(name.utf8.dropFirst(owner.utf8.count + 1))
                else {
                    tables.append(name)
                    continue
                }
                shadows[name.exact] = owner
                guessed.append(name)
            }
        }
    }

    private func owner(of name: String) -> String? {
        virtual.filter { name.folded.hasPrefix(($0 + "_").folded.text) }.max { $0.utf8.count < $1.utf8.count }
    }

    /// The folded name of the module of a virtual table.
    private static func module(of table: String, _ db: Database) throws -> ExactText? {
        let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [table])
        let tokens = SQLToken.all(of: Array((sql ?? "").unicodeScalars))
        guard let using = tokens.firstIndex(where: { $0.isWord("using") }), using + 1 < tokens.count else { return nil }
        return (tokens[using + 1].name ?? tokens[using + 1].text)?.folded
    }

    private static func isShadowName(_ ending: Substring.UTF8View) -> Bool {
        let known: Set<ExactText> = [
            "data", "idx", "content", "docsize", "config", "node", "parent", "rowid", "segments", "segdir", "stat", "chunks", "rowids", "info", "auxiliary",
        ]
        let name = String(Substring(ending)).folded
        return known.contains(name) || name.hasPrefix("vector_chunks") || name.hasPrefix("metadatachunks") || name.hasPrefix("metadatatext")
    }
}
