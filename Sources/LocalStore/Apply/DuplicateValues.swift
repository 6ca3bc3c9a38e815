import GRDB
package import SnapshotModel
import StrictText

/// Resolves conflicts of UNIQUE values between rows of one version: this device's table has a UNIQUE index that the table of the device that
/// published lacks.
///
///     applier.duplicates = duplicates
///     …                                                 // rows whose value is taken go to a stash
///     let count = try duplicates.resolve { try setAside($0) }
///
/// The rule is U12 of the table in docs/sync.md, "Who keeps a UNIQUE value": the row with the higher ``RowRank`` stays. The other is set aside, and
/// a tracked change with its own instant deletes it.
package final class DuplicateValues {
    private let transaction: LocalTransaction
    private let schema: DatasetSchema
    private let rows: StashedRows
    private var keys: [EntityKey] = []

    /// Makes a resolver; nil if the table has no UNIQUE values besides the key.
    package init?(_ transaction: LocalTransaction, _ schema: DatasetSchema) throws {
        if let unique = try UniqueKey.others(transaction.db, schema), unique.isEmpty { return nil }
        self.transaction = transaction
        self.schema = schema
        rows = try StashedRows(transaction, schema, table: "snapsync_duplicates")
    }

    /// Takes a row that the table has refused. Returns false if the row has no key.
    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws -> Bool {
        guard let key = schema.keyShape.key(of: values) else { return false }
        if keys.isEmpty { try rows.create() }
        try rows.take(key) { try $0.take(values) }
        keys.append(key)
        return true
    }

    /// Inserts the rows that were taken, the highest rank first. Call it after the version's rows were inserted, and before rows that were changed
    /// here return.
    ///
    /// - Returns: how many of the version's rows are not in the table.
    package func resolve(setAside: (DisplacedRow) throws -> Void) throws -> Int {
        guard !keys.isEmpty else { return 0 }
        var count = 0
        for one in try keys.map({ RowRank(try instant(of: $0), $0) }).sorted(by: >) {
            if try rows.insert(one.key) { continue }
            let rivals = try rows.rivals(of: one.key).map { RowRank(try transaction.tombstonesAndInstants.versionInstant(of: $0, in: schema), $0) }
            let isHighest = rivals.allSatisfy { $0 < one }
            for loser in isHighest ? rivals : [one] {
                try displace(loser, from: isHighest ? schema : rows.stashed, setAside)
                count += 1
            }
            guard try !isHighest || !rivals.isEmpty && rows.insert(one.key) else {
                throw LocalStoreError(
                    .badRow, at: "\(transaction.path), table \(schema.table)",
                    "a constraint of the table refuses the version's entity \(one.key); nothing was changed",
                    hint: "compare the table's constraints with the publisher's, then run the same command again")
            }
        }
        try rows.drop()
        return count
    }

    private func displace(_ loser: RowRank, from table: DatasetSchema, _ setAside: (DisplacedRow) throws -> Void) throws {
        let transaction = transaction, instant = loser.instant.forTombstone
        try setAside(
            DisplacedRow(schema: schema, key: loser.key, reason: .valueTaken, instant: instant, displacedAt: instant) {
                try transaction.rows.giveRow(loser.key, of: table, to: $0)
            })
        try transaction.merge.displaceRow(loser.key, of: schema, at: loser.instant)
    }

    private func instant(of key: EntityKey) throws -> Instant {
        try transaction.tombstonesAndInstants.appliedInstant(of: key, in: schema) ?? transaction.rows.ownInstant(of: key, in: rows.stashed) ?? .distantPast
    }
}
