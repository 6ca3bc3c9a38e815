import GRDB

/// The versions that this database had, in sequence: the table `snapsync_lineage`.
///
/// If the zone's history forks, the last common version of both histories is found here.
package struct LineageTable: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.lineage.name
    /// How many versions back a fork can be traced.
    private static let limit = 1024

    /// The versions that were applied or published here, newest first.
    package func versions() throws -> [AppliedVersion] {
        guard try db.hasTable(Self.table) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, hash FROM \(Self.table) ORDER BY number DESC").map { AppliedVersion(number: $0[0], hash: $0[1]) }
    }

    /// Records a version that this database now has. Deletes records with the same or a later number: those versions lost their numbers to other
    /// commits.
    func record(_ version: AppliedVersion) throws {
        try LocalTable.lineage.create(in: db)
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number >= \(version.number) OR number <= \(version.number - Self.limit)")
        try db.execute(sql: "INSERT INTO \(Self.table) VALUES(?, ?)", arguments: [version.number, version.hash])
    }

    /// Deletes the versions after `number`, which the zone does not have.
    package func forget(after number: Int) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number > ?", arguments: [number])
    }
}
