import GRDB

/// The versions that were in this database, one after another: the table `snapsync_lineage`.
///
/// Where two histories of a zone part, the last version that both have is among them.
package struct LineageTable: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.lineage.name
    /// How many versions back a fork can be followed.
    private static let limit = 1024

    /// The versions that were applied or published here, newest first.
    package func versions() throws -> [AppliedVersion] {
        guard try db.hasTable(Self.table) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, hash FROM \(Self.table) ORDER BY number DESC").map { AppliedVersion(number: $0[0], hash: $0[1]) }
    }

    /// Records a version that is in this database now. Forgets a version that it does not follow, because that one lost its number to another.
    func record(_ version: AppliedVersion) throws {
        try LocalTable.lineage.create(in: db)
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number >= \(version.number) OR number <= \(version.number - Self.limit)")
        try db.execute(sql: "INSERT INTO \(Self.table) VALUES(?, ?)", arguments: [version.number, version.hash])
    }

    /// Forgets the versions after `number`, which are not the zone's.
    package func forget(after number: Int) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number > ?", arguments: [number])
    }
}
