import LocalStore
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// The policy `single`: of all entities of both sides one stays, the later; of equally late ones the fuller, then the one
/// with the greater hash. The others are deleted, and the deletions are tracked, so that they are gone everywhere.
package struct SinglePolicy {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let ledger: ImportLedger

    /// One of the entities of which one stays.
    package struct Candidate: Sendable {
        package let key: EntityKey
        /// When it was last changed; the distant past where that is not known.
        package let instant: Instant
        package let state: EntityState

        package init(key: EntityKey, instant: Instant, state: EntityState) {
            self.key = key
            self.instant = instant
            self.state = state
        }

        /// Whether it stays, of these two.
        package func wins(over other: Candidate) -> Bool {
            (instant, state.filledCount, state.hash) > (other.instant, other.state.filledCount, other.state.hash)
        }
    }

    /// Keeps a copy of the rows that are here, before a version comes. Call before anything is changed.
    func keepCopy(besides version: Int) throws {
        let rows = try ownRows()
        // One row of one's own and nothing in the version: nothing can be lost.
        guard !rows.isEmpty, rows.count + version > 1 else { return }
        for key in rows.keys.sorted() { try ledger.copy(key, of: schema, in: transaction) }
    }

    /// Deletes all rows but one. Call when the version is in.
    func keepOne() throws {
        let rows = try ownRows()
        guard rows.count > 1 else { return }
        let ranked = try rows.map { key, state in
            Candidate(key: key, instant: try transaction.changeLog.instant(of: key, in: schema) ?? .distantPast, state: state)
        }
        .sorted { $0.wins(over: $1) }
        for loser in ranked.dropFirst() {
            _ = try transaction.rows.deleteEntity(loser.key, of: schema)
            let later = loser.instant == .distantPast ? ledger.now : max(ledger.now, loser.instant.advanced(byMicroseconds: 1))
            try transaction.changeLog.track(of: loser.key, in: schema, at: later)
            ledger.note(loser.key, schema, "deleted: only one may be left")
        }
    }

    private func ownRows() throws -> [EntityKey: EntityState] {
        let states = EntityStates(schema: schema)
        try transaction.rows.giveRows(of: schema, to: states)
        return states.states
    }
}
