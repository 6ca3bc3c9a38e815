import SnapshotModel
import StrictText

extension DatasetSchema {
    /// SQL for the instant of row `t`'s own timestamp; `NULL` for a dataset without a timestamp.
    var ownInstantSQL: String { timestampIndex.map { instantSQL("t.\(columns[$0].column.sqlIdentifier)") } ?? "NULL" }

    /// SQL that converts a value of the timestamp column to an instant; `NULL` if it is not an instant.
    func instantSQL(_ value: String) -> String { "snapsync_instant(\(value)\(timestampUnit.map { ", '\($0.rawValue)'" } ?? ""))" }
}
