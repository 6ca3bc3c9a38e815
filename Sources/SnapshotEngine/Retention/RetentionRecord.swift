package import CloudStore
import StrictText

/// What was pruned last, as a record of the zone: the commit that saves it makes the checkpoint count that older versions go below.
package struct RetentionRecord: Sendable {
    /// The oldest version that is still there besides the pinned ones.
    let oldestKept: Int
    let at: Instant

    /// The record as the zone keeps it.
    package var record: CloudRecord {
        CloudRecord(type: Self.recordType, name: Self.recordName, fields: ["oldestKept": .integer(Int64(oldestKept)), "at": .date(at)])
    }

    static let recordType = "SnapshotRetention"
    static let recordName = "snapshot_retention"
}
