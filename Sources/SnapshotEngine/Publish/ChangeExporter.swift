import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Writes the changes of one dataset since the applied version as a change asset. It reads the tracked changes and does not scan the table.
///
/// Memory: the changes, at most ``AssetRule/changeRawBytes`` of JSON.
struct ChangeExporter: Sendable {
    let schema: DatasetSchema
    let syncTimestamp: Instant
    /// The asset that the last version ends with.
    let after: CloudAsset
    let level: Int
    let rule: AssetRule

    /// The encoded changes.
    struct Encoded {
        let text: ByteBuffer
        /// The number of entities that were changed or inserted, and the number that were deleted.
        let changed: Int
        let deleted: Int
    }

    /// Reads and encodes the tracked changes of one state of the database; nil if there are too many for a change asset.
    func encode(_ reader: DatasetReader) throws -> Encoded? {
        let transaction = reader.transaction
        guard try transaction.changeLog.count(of: schema, upTo: rule.changeCount + 1) <= rule.changeCount else { return nil }
        let changes = try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil))
        let rows = try transaction.rows.lookup(of: schema)
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: syncTimestamp, after: AssetPath(after.path)?.stem ?? "")
        var tail = SnapshotTailBuilder(), undated: Set<EntityKey> = []
        for change in changes where !change.isDeletion {
            encoder.changed = change.partialColumns(of: schema)
            if let changed = encoder.changed, let timestamp = schema.timestampIndex, !changed.contains(timestamp) { undated.insert(change.key) }
            guard try rows.give(change.key, to: encoder) else {
                throw SyncError(
                    .tryAgainLater, step: .read, at: "\(schema.name), key \(change.key)", "the row is not as its tracked change says",
                    hint: "run snapsync verify --local")
            }
            guard encoder.rawByteCount <= rule.changeRawBytes else { return nil }
        }
        for change in changes where change.isDeletion { tail.addDeletion(of: change.key, at: change.instant) }
        try tail.addChangedInstants(of: schema, except: undated, in: transaction)
        return Encoded(text: try encoder.end(tail), changed: encoder.count, deleted: changes.count { $0.isDeletion })
    }

    /// Compresses and stores the asset.
    func store(_ encoded: Encoded, into asset: any AssetWriter) throws -> CloudAsset {
        let compressor = try SyncError.at(.compress) { try MemberCompressor(level: level, boxes: asset.boxes) }
        let member = try SyncError.at(.compress) { try encoded.text.withBytes { try compressor.compress($0) } }
        return try SyncError.at(.store) {
            try asset.write(member.bytes)
            return try asset.finish(rawByteCount: encoded.text.count)
        }
    }
}
