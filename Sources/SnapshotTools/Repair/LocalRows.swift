import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The rows of a device's table, read from one state of the database. A range of rows serves if its hash is that of the version's block.
final class LocalRows {
    /// The name of the source in the report.
    let name: String
    private let session: ReadSession
    private let schema: DatasetSchema
    private let hasher: RangeHasher

    init(_ context: SyncContext, _ schema: DatasetSchema) throws {
        let session = try ReadSession(context.database, readers: 1)
        try session.withReader(0) { _ = try $0.transaction.tables.check(of: schema) }
        self.session = session
        self.schema = schema
        name = "the rows of \(context.database.path)"
        hasher = RangeHasher(schema: schema)
    }

    /// The JSON of a block, without the separator before it; nil if the rows are not those of the block.
    func block(_ number: Int, of index: SnapshotIndex) throws -> [UInt8]? {
        guard index.describes(schema) else { return nil }
        hasher.begin(index.blocks[number])
        let isRead = try session.withReader(0) { reader in
            do {
                try reader.ranges(of: schema).read(index.range(ofBlock: number), into: hasher)
                return true
            } catch is RangeHasher.Differs {
                return false
            }
        }
        return isRead && hasher.isSame ? Array(hasher.bytes) : nil
    }

    /// The text of a version's tail.
    func tail() throws -> [UInt8] {
        var tail = SnapshotTailBuilder()
        try session.withReader(0) { reader in
            try reader.transaction.tombstonesAndInstants.forEachTombstone(of: schema) { tail.addDeletion(of: $0, at: $1) }
            try reader.transaction.held.forEach(of: schema) { _, entity, _ in try tail.addHeld(entity, of: schema) }
            try tail.addInstants(of: schema, in: reader.transaction)
        }
        return try tail.text().withBytes { Array($0) }
    }
}
