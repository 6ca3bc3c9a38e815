import GRDB
import SnapshotModel

extension TableInspector {
    /// Creates the tables of the built-in datasets that are missing. Returns the names of those it created.
    ///
    /// - Parameter wanted: the tables to create; nil for all.
    package func createBuiltIn(_ wanted: [String]? = nil) throws -> [String] {
        var made: [String] = []
        for (table, sql) in Self.builtInTables where try wanted?.contains(table) != false && !db.hasTable(table) {
            try db.execute(sql: sql)
            made.append(table)
        }
        return made
    }

    /// Whether this statement makes a built-in table as this program does.
    static func isBuiltIn(_ sql: String) -> Bool { builtInTables.contains { $0.1.utf8.elementsEqual(sql.utf8) } }

    /// The statements that make some of the built-in tables, unless a text makes them.
    static func builtInStatements(_ wanted: [String], besides text: SchemaText) -> [SchemaText.Statement] {
        let taken = Set(text.statements.map(\.key)), wanted = Set(wanted)
        return builtInTables.map { SchemaText.Statement(type: .table, name: $0.0, sql: $0.1) }.filter { wanted.contains($0.name) && !taken.contains($0.key) }
    }

    private static let builtInTables = [
        (
            "buckets",
            """
            CREATE TABLE buckets(
                id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, description TEXT, color TEXT, iconUrl TEXT,
                createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, isOrphan INTEGER)
            """
        ),
        (
            "notifications",
            """
            CREATE TABLE notifications(
                id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, subtitle TEXT, body TEXT, readAt TEXT, sentAt TEXT,
                createdAt TEXT NOT NULL, updatedAt TEXT NOT NULL, bucketId TEXT NOT NULL REFERENCES buckets(id),
                attachments TEXT NOT NULL DEFAULT '[]', actions TEXT NOT NULL DEFAULT '[]', tapAction TEXT)
            """
        ),
    ]
}
