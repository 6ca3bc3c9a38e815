import CloudStore
import LocalStore
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// A source of a block's JSON and a version's tail other than assets: a table's rows, or the previous version with its changes.
protocol EntitySource {
    /// The name of the source in the report.
    var name: String { get }
    /// The JSON of a block, without the separator before it; nil if this source does not have it.
    func block(_ number: Int, of index: SnapshotIndex) throws -> [UInt8]?
    /// The text of a version's tail.
    func tail() throws -> [UInt8]
}

/// The rows of a device's table, read from one state of the database. A range of rows serves if its hash is that of the version's block.
final class LocalRows: EntitySource {
    let name: String
    private let session: ReadSession
    private let schema: DatasetSchema
    private let hasher: RangeHasher

    init(_ device: SyncContext, _ schema: DatasetSchema) throws {
        let session = try SyncError.at(.read) { try ReadSession(device.database, readers: 1) }
        try session.withReader(0, at: .read) { _ = try $0.transaction.tables.check(of: schema) }
        self.session = session
        self.schema = schema
        name = "the rows of \(device.database.path)"
        hasher = RangeHasher(schema: schema)
    }

    func block(_ number: Int, of index: SnapshotIndex) throws -> [UInt8]? {
        guard index.describes(schema) else { return nil }
        hasher.begin(index.blocks[number])
        let isRead = try session.withReader(0, at: .read) { reader in
            do {
                try reader.ranges(of: schema).read(index.range(ofBlock: number), into: hasher)
                return true
            } catch is RangeHasher.Differs {
                return false
            }
        }
        return isRead && hasher.isSame ? Array(hasher.bytes) : nil
    }

    func tail() throws -> [UInt8] {
        var tail = SnapshotTailBuilder()
        try session.withReader(0, at: .read) { reader in
            try reader.transaction.tombstonesAndInstants.forEachTombstone(of: schema) { tail.addDeletion(of: $0, at: $1) }
            try reader.transaction.held.forEach(of: schema) { _, entity, _ in try tail.addHeld(entity, of: schema) }
            try tail.addInstants(of: schema, in: reader.transaction)
        }
        return try tail.text().withBytes { Array($0) }
    }
}

/// The previous version, combined with the change asset that leads from it to the damaged version.
final class EarlierVersion: EntitySource {
    let name: String
    private let version: DatasetVersion
    private let hasher: RangeHasher

    /// - Parameters:
    ///   - fields: the record of the previous version.
    ///   - change: the changes of the damaged version.
    init(_ fields: DatasetRecord, _ change: CloudAsset, _ damaged: DatasetRecord, of record: CloudRecord, in cloud: CloudDatabase, zone: ZoneID)
        async throws
    {
        let whole = DatasetRecord(
            dataFile: fields.dataFile, changeFiles: fields.changeFiles + [change], syncTimestamp: damaged.syncTimestamp, recordCount: damaged.recordCount)
        version = try await DatasetVersion(CloudRecord(type: record.type, name: record.name, fields: whole.cloudFields), in: cloud, zone: zone).loaded()
        hasher = RangeHasher(schema: version.schema)
        name = "the version before, with \(change.path)"
    }

    func block(_ number: Int, of index: SnapshotIndex) throws -> [UInt8]? {
        guard index.describes(version.schema) else { return nil }
        let range = index.range(ofBlock: number)
        let runs = try version.runs().indices.filter { run in
            let other = version.range(of: run)
            let endsBefore = other.next.flatMap { next in range.first.map { next <= $0 } } ?? false
            let beginsBehind = range.next.flatMap { next in other.first.map { $0 >= next } } ?? false
            return !endsBefore && !beginsBehind
        }
        hasher.begin(index.blocks[number])
        let inside = FilteringSink(hasher, version.schema) { range.contains($0) }
        do {
            try version.read(runs) { try $0.give(to: inside) }
        } catch is RangeHasher.Differs {
            return nil
        }
        return hasher.isSame ? Array(hasher.bytes) : nil
    }

    func tail() throws -> [UInt8] {
        try version.tailText().withBytes { Array($0) }
    }
}
