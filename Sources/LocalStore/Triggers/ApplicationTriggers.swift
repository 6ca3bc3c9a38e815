import GRDB
import SnapshotModel
import StrictText

/// The triggers of the main database that are not snapsync's own, by table.
struct ApplicationTriggers {
    private let names: [ExactText: [String]]

    /// Reads the triggers from the schema with one query. Reads no user's row.
    init(_ db: Database) throws {
        let rows = try Row.fetchAll(
            db.keptStatement(
                sql: "SELECT tbl_name, name FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY name"))
        names = Dictionary(grouping: rows) { ($0[0] as String).folded }.mapValues { $0.map { $0[1] } }
    }

    var isEmpty: Bool { names.isEmpty }

    /// The names of the triggers of a dataset's table, in order.
    func of(_ schema: DatasetSchema) -> [String] { names[schema.table.folded] ?? [] }

    /// The SQL text of every such trigger, ordered by name.
    static func texts(_ db: Database) throws -> [(name: String, table: String, sql: String)] {
        try Row.fetchAll(
            db, sql: "SELECT name, tbl_name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'snapsync\\_%' ESCAPE '\\' ORDER BY name"
        )
        .map { ($0[0], $0[1], $0[2]) }
    }
}
