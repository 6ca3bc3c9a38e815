import GRDB

// The versions that were here, one after another: where two histories of a zone part, the last one that both have is among them.
extension LocalTransaction {
    /// How many versions back a fork can be followed.
    private static let lineageLimit = 1024

    /// The versions that were applied or published here, newest first.
    package func lineage() throws -> [AppliedVersion] {
        guard try db.hasTable(Self.lineageTable) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, hash FROM \(Self.lineageTable) ORDER BY number DESC").map { AppliedVersion(number: $0[0], hash: $0[1]) }
    }

    /// Notes a version that is now here. One that it does not follow, because it lost its number to another, is forgotten.
    func noteLineage(_ version: AppliedVersion) throws {
        try db.execute(sql: """
            CREATE TABLE IF NOT EXISTS \(Self.lineageTable)(number INTEGER PRIMARY KEY, hash TEXT NOT NULL);
            DELETE FROM \(Self.lineageTable) WHERE number >= \(version.number) OR number <= \(version.number - Self.lineageLimit);
            """)
        try db.execute(sql: "INSERT INTO \(Self.lineageTable) VALUES(?, ?)", arguments: [version.number, version.hash])
    }

    /// Forgets the versions after `number`, which are not the zone's.
    package func forgetLineage(after number: Int) throws {
        guard try db.hasTable(Self.lineageTable) else { return }
        try db.execute(sql: "DELETE FROM \(Self.lineageTable) WHERE number > ?", arguments: [number])
    }

    static let lineageTable = "snapsync_lineage"
}
