import GRDB
package import SnapshotModel

// What a tracked change replaced first: only a change of something that was known can be told from an entity made here.
extension LocalTransaction {
    /// The tables that the guards keep beside the tracking's own.
    static let guardTables = ["snapsync_bases", "snapsync_set_aside"]

    /// Makes the guards' tables where they are missing: in databases that an earlier snapsync has set up.
    func createGuardTables() throws {
        guard try Self.guardTables.contains(where: { try !db.hasTable($0) }) else { return }
        try db.execute(sql: """
            CREATE TABLE IF NOT EXISTS snapsync_bases(dataset INTEGER NOT NULL, key, at INTEGER NOT NULL, PRIMARY KEY(dataset, key)) WITHOUT ROWID;
            CREATE TABLE IF NOT EXISTS snapsync_set_aside(
                dataset TEXT NOT NULL, key, entity TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, displacedAt INTEGER,
                PRIMARY KEY(dataset, key)) WITHOUT ROWID;
            """)
    }

    /// Whether a tracked change edited an entity that was known before, rather than made one.
    package func isChangeOfKnown(_ key: EntityKey, in schema: DatasetSchema) throws -> Bool {
        guard let id = try trackingID(schema) else { return false }
        let statement = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM snapsync_bases WHERE dataset = ? AND key = ?)")
        return try Bool.fetchOne(statement, arguments: [id, key.databaseValue]) ?? false
    }

    /// Forgets what changes replaced that are tracked no longer.
    func dropStaleBases(id: Int64) throws {
        try db.execute(
            sql: "DELETE FROM snapsync_bases AS b WHERE dataset = ?1 AND NOT EXISTS (SELECT 1 FROM snapsync_changes c WHERE c.dataset = ?1 AND c.key = b.key)",
            arguments: [id])
    }

    /// Notes what the first of an entity's tracked changes replaced: its dataset, its key, the instant.
    func makeBaseStatement() throws -> Statement {
        try db.makeStatement(
            sql: "INSERT OR IGNORE INTO snapsync_bases SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ?1 AND key = ?2)")
    }
}
