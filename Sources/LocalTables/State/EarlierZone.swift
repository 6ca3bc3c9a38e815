import GRDB

/// A zone that this database has left for its successor, because the zone was signed or sealed.
package struct EarlierZone: Hashable, Sendable, Codable {
    package let zone: String
    /// The last version of the zone that this database had; nil if there was none.
    package let version: AppliedVersion?
    /// Whether this database created the successor zone.
    package let madeNext: Bool
    /// Whether this database must still admit the zone's members to the successor zone.
    package var mustAdmit: Bool
    /// Whether this database has removed the zone's old versions.
    package var isPruned: Bool

    package init(zone: String, version: AppliedVersion?, madeNext: Bool, mustAdmit: Bool = false) {
        (self.zone, self.version, self.madeNext, self.mustAdmit, isPruned) = (zone, version, madeNext, mustAdmit, false)
    }
}

extension StateTable {
    /// Whether a version belongs to the zone that was left last. Then nothing was imported from the present zone yet.
    package func isOfEarlierZone(_ version: AppliedVersion?) throws -> Bool { try version != nil && earlierZones().last?.version == version }

    /// The applied version if it belongs to the present zone; nil between leaving a zone and the first import from its successor.
    package func appliedHere() throws -> AppliedVersion? {
        let applied = try applied()
        return try isOfEarlierZone(applied) ? nil : applied
    }
}

/// What `init` records in the database before it creates a zone.
///
/// If `init` crashes between creating the zone and writing the settings, the next `init` of this database finds the record and knows that it
/// created the zone. Without it the zone would look like another device's, and the first-publish guard would refuse its own creator.
/// The record has a table of its own, `snapsync_beginning`, which the transaction that writes the settings drops again.
package struct ZoneBeginning: Hashable, Sendable {
    private let cloudUUID: String
    private let zone: String
    private let device: String

    /// The creation of that zone, in that cloud, by that device.
    package init(of zone: String, inCloud cloudUUID: String, as device: String) {
        (self.cloudUUID, self.zone, self.device) = (cloudUUID, zone, device)
    }
}

extension ZoneBeginning {
    var arguments: StatementArguments { [cloudUUID, zone, device] }
}

/// The zone that `init` is about to create: the table `snapsync_beginning`, which exists only until `init` has finished.
package struct ZoneBeginningTable: TransactionPart {
    package let transaction: LocalTransaction

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
