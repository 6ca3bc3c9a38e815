import LocalStore
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// The policy `single`: one entity of both sides stays. The later one wins; among equally late ones the one with more filled fields, then the one
/// with the greater hash. The others are deleted, and the deletions are tracked, so that every device deletes them.
package struct SinglePolicy {
    let schema: DatasetSchema
    let transaction: LocalTransaction
    let ledger: ImportLedger

    /// An entity that may be the one that stays.
    package struct Candidate: Sendable {
        package let key: EntityKey
        /// The time of its last change; the distant past if unknown.
        package let instant: Instant
        package let state: EntityState

        package init(key: EntityKey, instant: Instant, state: EntityState) {
            self.key = key
            self.instant = instant
            self.state = state
        }

        /// Whether this candidate wins over the other.
        package func wins(over other: Candidate) -> Bool {
            (instant, state.filledCount, state.hash) > (other.instant, other.state.filledCount, other.state.hash)
        }
    }

    /// Writes the database's own rows to a file before a version is applied. Call it before anything is changed.
    func keepCopy(besides version: Int) throws {
        let rows = try ownRows()
        // With one own row and none in the version, nothing can be lost.
        guard !rows.isEmpty, rows.count + version > 1 else { return }
        for key in rows.keys.sorted() { try ledger.copy(key, of: schema, in: transaction) }
    }

    /// Deletes all rows but one. Call it after the version is applied.
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
