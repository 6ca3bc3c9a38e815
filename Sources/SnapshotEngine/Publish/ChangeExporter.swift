import CloudStore
import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Writes what changed in one dataset since the applied version as a change asset, from the tracked changes: no scan.
///
/// Memory: the changes, at most ``AssetRule/changeRawBytes`` of JSON.
struct ChangeExporter: Sendable {
    let schema: DatasetSchema
    let syncTimestamp: Instant
    let level: Int
    let rule: AssetRule

    /// The changes, encoded, and what they do to the number of entities.
    struct Encoded {
        let text: ByteBuffer
        /// How many entities were changed or made, and how many deleted.
        let changed: Int
        let deleted: Int
        /// By how much the number of entities grew; nil if only counting tells.
        let growth: Int?
    }

    /// Reads and encodes the tracked changes of one state; nil if they are too many for a change asset.
    func encode(_ reader: DatasetReader) throws -> Encoded? {
        let transaction = reader.transaction
        guard try transaction.changeLog.count(of: schema, upTo: rule.changeCount + 1) <= rule.changeCount else { return nil }
        let changes = try transaction.changeLog.changes(of: schema, in: KeyRange(number: 0, first: nil, next: nil))
        let rows = try transaction.rows.lookup(of: schema)
        let encoder = ChangeEncoder(schema: schema, syncTimestamp: syncTimestamp)
        var tail = SnapshotTailBuilder()
        for change in changes where !change.isDeletion {
            guard try rows.give(change.key, to: encoder) else {
                throw SyncError(
                    .tryAgainLater, step: .read, at: "\(schema.name), key \(change.key)", "the row is not as its tracked change says",
                    hint: "run snapsync verify --local")
            }
            guard encoder.rawByteCount <= rule.changeRawBytes else { return nil }
        }
        for change in changes where change.isDeletion { tail.addDeletion(of: change.key, at: change.instant) }
        for change in changes where change.isStamped { tail.addInstant(change.instant, of: change.key) }
        return Encoded(text: try encoder.end(tail), changed: encoder.count, deleted: changes.count { $0.isDeletion }, growth: Self.growth(changes))
    }

    /// By how much changes make a version grow; nil where it is not known of all of them whether the version before has the entity.
    private static func growth(_ changes: [TrackedChange]) -> Int? {
        var growth = 0
        for change in changes {
            guard let wasThere = change.isInVersion else { return nil }
            growth += (change.isDeletion ? 0 : 1) - (wasThere ? 1 : 0)
        }
        return growth
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
