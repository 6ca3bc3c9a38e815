import GRDB
import LocalTables
import SnapshotModel
package import StrictText

/// Up to which number the edits of each reader are decided: by the zone's versions, and by this device since then (the table `snapsync_decided`).
package struct DecidedEdits: TransactionPart {
    let transaction: LocalTransaction

    private static let table = LocalTable.decided.name

    /// What the applied version says.
    package func ofVersion() throws -> [ExactText: Int64] { Dictionary(try answered().map { ($0.device.exact, $0.number) }) { max($0, $1) } }

    /// Records what the applied version says.
    package func setOfVersion(_ answered: [ExactText: Int64]) throws {
        try self.answered.set(answered.sorted { $0.key < $1.key }.map { Decided(device: $0.key.text, number: $0.value) })
    }

    private var answered: StoredValue<[Decided]> { transaction.state.value("answered", []) }

    private struct Decided: Codable, Equatable {
        let device: String
        let number: Int64
    }

    /// The number of a device's last decided edit; 0 before the first.
    package func number(of device: String) throws -> Int64 {
        let own =
            try db.hasTable(Self.table)
            ? KeyedStatement(db, "SELECT number FROM snapsync_decided WHERE device = ?").bind(.text(device)).integer() : nil
        return try max(own ?? 0, ofVersion()[device.exact] ?? 0)
    }

    /// Records that this device has decided a device's edits, in the transaction that contains their effect.
    package func decide(_ device: String, upTo number: Int64) throws {
        try LocalTable.decided.create(in: db)
        try KeyedStatement(db, "INSERT INTO snapsync_decided VALUES(?1, ?2) ON CONFLICT DO UPDATE SET number = max(number, ?2)")
            .bind(.text(device), .integer(number)).run()
    }

    /// What the next version must say: what this device has decided and no version says.
    package func unpublished() throws -> [ExactText: Int64] {
        guard try db.hasTable(Self.table) else { return [:] }
        let known = try ofVersion()
        let rows = try KeyedStatement(db, "SELECT device, number FROM snapsync_decided").bind()
        defer { rows.end() }
        var decided: [ExactText: Int64] = [:]
        while try rows.step() {
            guard let device = rows.string(0), known[device.exact].map({ $0 < rows.integer(1) }) ?? true else { continue }
            decided[device.exact] = rows.integer(1)
        }
        return decided
    }

    /// Takes back what no version says, because the effect is dropped. The edits are decided anew if their messages are still in the mailbox.
    package func forgetUnpublished() throws { try LocalTable.decided.drop(in: db) }

    /// Keeps what the zone's versions say for the zone that continues it.
    func carryOver() throws {
        for (device, number) in try ofVersion() { try decide(device.text, upTo: number) }
        try setOfVersion([:])
    }
}
