import GRDB
import SnapshotModel
import StrictText

extension ColumnGroups {
    /// Reads the groups of a dataset from its description and from the constraints of its table.
    init(_ db: Database, _ schema: DatasetSchema) throws {
        guard let table = try TableColumns(db, schema.table) else {
            self.init(schema.declaredGroups, of: schema)
            return
        }
        var groups = try table.checks(db).map { try IndexText.columns(in: $0, of: schema.table, db) }
        groups += try UniqueKey.others(db, schema)?.map(\.columns) ?? []
        groups += try ForeignKey.all(db).filter { $0.child.folded == schema.table.folded }.map { $0.columns.map(\.child) }
        var positions = Dictionary(schema.columns.enumerated().map { ($1.column.folded, Set([$0])) }) { first, _ in first }
        // A generated column changes with those that it is computed from, which may be generated, too.
        let generated = table.columns.filter(\.isGenerated).map(\.name)
        let sources = try generated.isEmpty ? [:] : table.definitions(db).mapValues { try IndexText.columns(in: $0, of: schema.table, db) }
        for _ in generated {
            for name in generated {
                positions[name.folded] = (sources[name.folded] ?? []).reduce(into: []) { $0.formUnion(positions[$1.folded] ?? []) }
            }
        }
        self.init(schema.declaredGroups + groups.map { $0.reduce(into: []) { $0.formUnion(positions[$1.folded] ?? []) } }, of: schema)
    }
}

extension TableColumns {
    /// The definitions of the columns as they were written, each by the column's name.
    fileprivate func definitions(_ db: Database) throws -> [ExactText: String] {
        guard let sql = try String.fetchOne(db, sql: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?", arguments: [name]) else {
            return [:]
        }
        let source = Array(sql.unicodeScalars), tokens = SQLToken.all(of: source)
        guard let open = tokens.firstIndex(where: { $0.symbol == "(" }) else { return [:] }
        var found: [ExactText: String] = [:], start = open + 1, depth = 1
        for index in tokens.indices[(open + 1)...] where depth > 0 {
            if tokens[index].symbol == "(" { depth += 1 }
            if tokens[index].symbol == ")" { depth -= 1 }
            guard depth == 0 || depth == 1 && tokens[index].symbol == "," else { continue }
            if start < index, let name = tokens[start].name ?? tokens[start].text {
                found[name.folded] = SQLToken.text(of: tokens[start..<index], in: source)
            }
            start = index + 1
        }
        return found
    }
}
