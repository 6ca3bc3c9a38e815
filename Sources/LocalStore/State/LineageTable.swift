import GRDB

/// The history of the version that this database has: the table `snapsync_lineage`.
///
/// If the zone's history forks, the last common version of both histories is found here.
package struct LineageTable: TransactionPart {
    let transaction: LocalTransaction

    static let table = LocalTable.lineage.name
    /// How many versions back a fork can be traced.
    private static let limit = 1024

    /// The versions that were applied or published here, and those before them whose commits were read, newest first.
    package func versions() throws -> [AppliedVersion] {
        guard try db.hasTable(Self.table) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, hash FROM \(Self.table) ORDER BY number DESC").map { AppliedVersion(number: $0[0], hash: $0[1]) }
    }

    /// Records a version that this database now has. Deletes records with the same or a later number: those versions lost their numbers to other
    /// commits.
    ///
    /// - Parameter earlier: versions of the same history before it, also if this database never had them. A database that was set up after a fork
    ///   finds the last common version among them.
    func record(_ version: AppliedVersion, after earlier: [AppliedVersion]) throws {
        try LocalTable.lineage.create(in: db)
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number >= \(version.number) OR number <= \(version.number - Self.limit)")
        for one in earlier.suffix(Self.limit - 1) + [version] {
            try db.execute(sql: "INSERT OR REPLACE INTO \(Self.table) VALUES(?, ?)", arguments: [one.number, one.hash])
        }
    }

    /// Deletes the versions after `number`, which the zone does not have.
    package func forget(after number: Int) throws {
        guard try db.hasTable(Self.table) else { return }
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE number > ?", arguments: [number])
    }
}

// What the local store records about versions that the zone no longer has, because an older state of the zone was restored.
extension LocalTransaction {
    /// Deletes the records about versions after `number`: what this device published in them, which edits they decided, and their place in
    /// the lineage.
    ///
    /// An edit that such a version decided is decided again if its message is still in the mailbox, because its effect is gone from the zone.
    package func forgetVersions(after number: Int) throws {
        try state.setIntended(nil)
        try state.pendingPins.set(state.pendingPins().filter { $0.version <= number })
        try lineage.forget(after: number)
        if try db.hasTable(PublishedChanges.table) { try db.execute(sql: "DELETE FROM \(PublishedChanges.table) WHERE version > ?", arguments: [number]) }
        try state.mailboxListing.set(nil)
        try decidedEdits.forgetUnpublished()
        try decidedEdits.setOfVersion([:])
    }
}
