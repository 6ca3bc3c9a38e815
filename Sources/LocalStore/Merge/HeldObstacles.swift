import GRDB
import LocalTables
package import SnapshotModel
import StrictText

extension HeldRows {
    /// Why a held row does not fit into its table, as clauses of a sentence: a UNIQUE value is taken, a row that it refers to is missing, a value is
    /// missing or would be changed by the column's type, or it breaks a CHECK.
    ///
    /// - Parameter values: the row.
    package func obstacles(of values: [OwnedValue], in schema: DatasetSchema) throws -> [String] { try obstacles(in: schema)(values) }

    /// The same for several rows of a table.
    package func obstacles(in schema: DatasetSchema) throws -> (_ values: [OwnedValue]) throws -> [String] {
        guard let table = try TableColumns(db, schema.table) else { return { _ in [] } }
        let others = table.undescribed(by: schema).map { "NULL AS \($0.name.sqlIdentifier)" }
        let columns = schema.columns.enumerated().map { "?\($0 + 1) AS \($1.column.sqlIdentifier)" } + others
        let row = try GeneratedColumns(db, table).computed(from: "(SELECT \(columns.joined(separator: ", ")))")
        let uniques = try UniqueKey.others(db, schema) ?? []
        let references = try transaction.references.foreignKeys().filter { $0.child.folded == schema.table.folded }
        // Of the table's own constraints, those that the application alone can compute are left out.
        let checks = try table.checks(db).map { (text: $0, sql: "SELECT 1 FROM \(row) WHERE NOT (\($0))") }
            .filter { (try? db.makeStatement(sql: $0.sql)) != nil }
        return { values in
            let parameters = values.map { KeyedStatement.Parameter.value($0) }
            func named(_ names: [String]) -> String {
                names.map { name in
                    let column = schema.columns.firstIndex { $0.column.folded == name.folded }
                    return "\(name) \(column.map { values[$0].description } ?? "")"
                }.joined(separator: ", ")
            }
            var found: [String] = []
            for unique in uniques {
                let rival = """
                    SELECT \(schema.keySQL.value(of: "t")) FROM main.\(schema.table.sqlIdentifier) t
                    WHERE \(unique.isTakenFrom) AND NOT (\(schema.keySQL.isSame("t", "NEW"))) LIMIT 1
                    """
                let sql = "SELECT key FROM (SELECT (\(rival)) AS key FROM \(row) \"NEW\") WHERE key IS NOT NULL"
                let rivals = try KeyedStatement(db, sql).bind(parameters).keys()
                found += rivals.map { "\(named(unique.columns)) is that of \($0.description)" }
            }
            for key in references {
                let isDangling = try KeyedStatement(db, "SELECT 1 FROM \(row) c WHERE \(key.isDangling)").bind(parameters).integer() == 1
                if isDangling { found.append("\(named(key.columns.map(\.child))) is in no row of \(key.parent)") }
            }
            for (index, column) in schema.columns.enumerated() {
                guard let own = table.column(column.column) else { continue }
                if values[index] == .null, own.isRequired { found.append("\(column.column) must have a value") }
                if let form = own.affinity.changed(values[index]) {
                    found.append("\(column.column) is declared \(own.declared), which would store \(values[index]) as \(form)")
                }
            }
            for check in checks where try KeyedStatement(db, check.sql).bind(parameters).integer() == 1 {
                found.append("it breaks CHECK (\(check.text))")
            }
            return found
        }
    }
}

extension TableInspector {
    /// The key as people name it. In a column that holds values of all types, a text that looks like another key stands in an array: `["1"]` beside `1`.
    package func named(_ key: EntityKey, of schema: DatasetSchema) throws -> EntityKey {
        guard case .text(let bytes) = key, let column = schema.keyColumns.first else { return key }
        let text = String(decoding: bytes, as: UTF8.self)
        let isLookalike = bytes.first == UInt8(ascii: "[") || Int64(text).map { String($0).exact == text.exact } ?? false
        guard isLookalike, try TableColumns(db, schema.table)?.column(column.column)?.affinity ?? .blob == .blob else { return key }
        return EntityKey(encoding: key.values)
    }

    /// The value that a column gets from what a person wrote: a number in a column of numbers, NULL for `null`, else the text.
    ///
    /// - Parameter old: the value that it replaces; decides where the column has no declared type.
    package func value(_ text: String, in column: DatasetColumn, replacing old: OwnedValue, of schema: DatasetSchema) throws -> OwnedValue {
        if text.exact == "null" { return .null }
        let holdsNumbers =
            switch (try TableColumns(db, schema.table)?.column(column.column)?.affinity ?? .blob, old) {
            case (.text, _): false
            case (.blob, .integer), (.blob, .real): true
            case (.blob, _): false
            default: true
            }
        guard holdsNumbers else { return OwnedValue(text) }
        return Int64(text).map { .integer($0) } ?? Double(text).map { .real($0.bitPattern) } ?? OwnedValue(text)
    }
}
