import GRDB

/// The zone that `init` is about to create: the table `snapsync_beginning`, which exists only until `init` has finished.
package struct ZoneBeginningTable: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.beginning.name

    /// Whether this database was about to create that zone.
    package func contains(_ beginning: ZoneBeginning) throws -> Bool {
        guard try db.hasTable("\(Self.table)") else { return false }
        return try Row.fetchOne(
            db, sql: "SELECT 1 FROM \(Self.table) WHERE cloud = ? AND zone = ? AND device = ?", arguments: beginning.arguments) != nil
    }

    /// Records that the zone is about to be created.
    package func record(_ beginning: ZoneBeginning) throws {
        try clear()
        try LocalTable.beginning.create(in: db)
        try db.execute(sql: "INSERT INTO \(Self.table) VALUES(?, ?, ?)", arguments: beginning.arguments)
    }

    /// Drops the table, after the zone was created or given up.
    package func clear() throws { try db.execute(sql: "DROP TABLE IF EXISTS \(Self.table)") }
}
