import LocalStore
import LocalTables
import SnapshotModel
import TestSupport

/// A database in a directory of its own: one connection of ours, and `sqlite3` as the application beside it.
struct LocalScene {
    let scratch: ScratchDirectory
    let database: LocalDatabase
    /// The database as another program sees it.
    let app: SQLiteShell
    var path: String { scratch.path("app.db") }

    /// Makes a database with SQL that `sqlite3` runs.
    init(_ sql: String, wal: Bool = true) throws {
        scratch = try ScratchDirectory()
        app = SQLiteShell("app.db", in: scratch.path)
        try app.run("PRAGMA journal_mode = \(wal ? "wal" : "delete");\n\(sql)")
        database = try LocalDatabase(path: scratch.path("app.db"))
    }

    /// All rows of a dataset, read by our plain reader.
    func rows(of schema: DatasetSchema) throws -> [[Value]] {
        let session = try ReadSession(database, readers: 1)
        defer { session.end() }
        return try session.withReader(0) { try $0.allRows(of: schema) }
    }

    /// Replaces a dataset's rows as an import does, foreign keys and all.
    func replace(_ schema: DatasetSchema, by rows: [[Value]], datasets: [DatasetSchema]? = nil) throws {
        try database.write { transaction in
            let keeper = try ForeignKeyEnforcer(transaction, datasets: datasets ?? [schema])
            try send(rows, to: transaction.rows.replaceAll(of: schema))
            try transaction.rows.checkCount(of: schema, is: rows.count)
            try keeper.enforce()
        }
    }
}

extension DatasetReader {
    /// All rows in the order of their keys.
    func allRows(of schema: DatasetSchema) throws -> [[Value]] {
        let collector = CollectingSink()
        let reader = try rows(of: schema)
        while try reader.next(into: collector) {}
        return collector.rows
    }
}
