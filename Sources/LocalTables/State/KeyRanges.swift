import GRDB
package import SnapshotModel
import StrictText

/// Keeps the keys of new rows in this device's range by moving the counters in `sqlite_sequence`.
///
/// SQLite gives a new row of a table with AUTOINCREMENT a key above the table's highest key and above the table's counter. An import brings rows
/// of other devices with keys of other ranges. The counter is then set to just before the device's next block. It is never decreased.
package struct KeyRanges: TransactionPart {
    package let transaction: LocalTransaction
    private var settings: SettingsTable { transaction.settings }

    /// The range and the device that it belongs to; nil if this database has none.
    package func current() throws -> (range: DeviceKeyRange, device: String)? {
        guard try settings.exists(), let device = try settings.keyRangeDevice(),
            let range = try settings.keyRange().flatMap(Int.init).flatMap(DeviceKeyRange.init)
        else { return nil }
        return (range, device)
    }

    /// Stores the range that the zone assigned to a device.
    package func set(_ range: DeviceKeyRange, of device: String) throws {
        try settings.keyRange.set(String(range.index))
        try settings.keyRangeDevice.set(device)
    }

    /// Moves the counters so that the next new row of each table gets a key of the device's range.
    ///
    /// A copy of a database that has taken another device name has no range until the zone assigns one. Without a range, a new row gets a key above
    /// those of the deleted rows that the version knows, as in the database that was there before.
    ///
    /// - Throws: ``SyncError`` with `.badRow` if the keys are used up.
    package func advance(_ schemas: [DatasetSchema]) throws {
        let own = try current().flatMap { try settings.device() == $0.device ? $0.range : nil }
        for schema in schemas where try transaction.tables.hasAutoincrement(schema) {
            if let own {
                try advance(schema, own)
            } else if try lastDeletedKey(of: schema) > lastKey(of: schema) {
                try setCounter(of: schema, lastDeletedKey(of: schema))
            }
        }
    }

    /// Whether the tables show that this database has used the range: in each table with keys, the last key or the one after it is in the range.
    package func isUsed(_ range: DeviceKeyRange, by schemas: [DatasetSchema]) throws -> Bool {
        let last = try schemas.map { try lastKey(of: $0) }.filter { $0 > 0 }
        return !last.isEmpty && last.allSatisfy { range.contains($0) || $0 < .max && range.contains($0 + 1) }
    }

    private func advance(_ schema: DatasetSchema, _ range: DeviceKeyRange) throws {
        let last = max(0, try lastKey(of: schema))
        if range.contains(last) { return }
        guard let first = range.next(after: last) else {
            throw SyncError(
                database: .badRow, at: "\(path), table \(schema.table)", "there are no keys left for new rows of this device after \(last)",
                hint: "give new rows smaller keys")
        }
        try setCounter(of: schema, first - 1)
    }

    private func setCounter(of schema: DatasetSchema, _ key: Int64) throws {
        try db.execute(sql: "UPDATE sqlite_sequence SET seq = ? WHERE name = ? COLLATE NOCASE", arguments: [key, schema.table])
        guard db.changesCount == 0 else { return }
        try db.execute(
            sql: "INSERT INTO sqlite_sequence(name, seq) SELECT name, ? FROM main.sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
            arguments: [key, schema.table])
    }

    private func lastDeletedKey(of schema: DatasetSchema) throws -> Int64 {
        guard let id = try trackingID(schema) else { return 0 }
        return try Int64.fetchOne(
            db, sql: "SELECT max(key) FROM snapsync_tombstones WHERE dataset = ? AND typeof(key) = 'integer'", arguments: [id]) ?? 0
    }

    /// The key above which SQLite chooses the next one. For tables with AUTOINCREMENT, whose key is one integer column.
    private func lastKey(of schema: DatasetSchema) throws -> Int64 {
        let key = schema.keyColumns[0].column.sqlIdentifier
        let highest = try Int64.fetchOne(db, sql: "SELECT max(\(key)) FROM main.\(schema.table.sqlIdentifier)") ?? 0
        return max(highest, try Int64.fetchOne(db, sql: "SELECT max(seq) FROM sqlite_sequence WHERE name = ? COLLATE NOCASE", arguments: [schema.table]) ?? 0)
    }
}

/// The keys that one device of a zone uses for new rows of tables with AUTOINCREMENT.
///
/// The keys from 0 on are divided into blocks of ``blockSize``. Of every ``count`` consecutive blocks each device has one. So two devices never
/// use the same key for two rows, however often a device continues in its next block.
package struct DeviceKeyRange: Sendable, Hashable {
    /// How many keys a block has.
    package static let blockSize: Int64 = 1 << 20
    /// How many devices of a zone can have a range.
    package static let count = 256

    /// The device's number among those of its zone that have a range, from 0.
    package let index: Int

    /// Nil if there is no such range.
    package init?(index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    /// The device's block among every ``count`` blocks: the index with its bits reversed. So the blocks of a few devices lie far apart, and a
    /// device that fills its block before it imports anything continues in blocks that no device has.
    private var place: Int64 { Int64(UInt8(index).bitReversed) }

    /// Whether a key is in the device's range.
    package func contains(_ key: Int64) -> Bool { key >= 0 && key / Self.blockSize % Int64(Self.count) == place }

    /// The first key of the device's next block in which all keys are greater than `last`; nil if there is none.
    package func next(after last: Int64) -> Int64? {
        let stride = Self.blockSize * Int64(Self.count), offset = place * Self.blockSize
        let round = last < offset ? 0 : (last - offset) / stride + 1
        let (product, overflow) = round.multipliedReportingOverflow(by: stride)
        let (first, beyond) = product.addingReportingOverflow(offset)
        let (_, isCut) = first.addingReportingOverflow(Self.blockSize)
        return overflow || beyond || isCut ? nil : max(first, 1)
    }
}

extension UInt8 {
    fileprivate var bitReversed: UInt8 { (0..<8).reduce(0) { $0 | ((self >> $1) & 1) << (7 - $1) } }
}
