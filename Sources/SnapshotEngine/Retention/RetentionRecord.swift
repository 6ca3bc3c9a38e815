package import CloudStore
import StrictText

/// The record of the last prune. The commit that saves it names the checkpoint below which older versions can be removed.
package struct RetentionRecord: Sendable {
    /// The oldest version that was kept, apart from pinned ones.
    let oldestKept: Int
    let at: Instant

    /// The record as it is stored in the zone.
    package var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: ["oldestKept": .integer(Int64(oldestKept)), "at": .date(at)])
    }

    static let recordType = "SnapshotRetention"
    static let recordName = "snapshot_retention"
}
