import GRDB

/// What `init` notes in the database before it makes a zone: should it end between the zone and the settings, the next `init` on this
/// database knows whose zone it finds.
///
/// Without the note the zone would be another's for all that a database can know, and the bootstrap latch would keep its own maker out.
/// It stands in a table of its own, `snapsync_beginning`, which the transaction that writes the settings takes out again.
package struct ZoneBeginning: Hashable, Sendable {
    private let cloudUUID: String
    private let zone: String
    private let device: String

    /// The making of that zone, in that cloud, under that device's name.
    package init(of zone: String, inCloud cloudUUID: String, as device: String) {
        self.cloudUUID = cloudUUID
        self.zone = zone
        self.device = device
    }
}

extension LocalTransaction {
    /// Whether this database was about to make that zone.
    package func hasBegun(_ beginning: ZoneBeginning) throws -> Bool {
        guard try db.hasTable("snapsync_beginning") else { return false }
        return try Row.fetchOne(
            db, sql: "SELECT 1 FROM snapsync_beginning WHERE cloud = ? AND zone = ? AND device = ?", arguments: beginning.arguments) != nil
    }

    /// Notes that the zone is about to be made.
    package func begin(_ beginning: ZoneBeginning) throws {
        try endBeginning()
        try db.execute(sql: "CREATE TABLE snapsync_beginning(cloud TEXT NOT NULL, zone TEXT NOT NULL, device TEXT NOT NULL)")
        try db.execute(sql: "INSERT INTO snapsync_beginning VALUES(?, ?, ?)", arguments: beginning.arguments)
    }

    /// Takes the note out again.
    package func endBeginning() throws { try db.execute(sql: "DROP TABLE IF EXISTS snapsync_beginning") }
}

extension ZoneBeginning {
    fileprivate var arguments: StatementArguments { [cloudUUID, zone, device] }
}
