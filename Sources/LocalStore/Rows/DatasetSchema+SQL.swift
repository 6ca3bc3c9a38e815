import SnapshotModel

extension DatasetSchema {
    /// The instant that a row's own timestamp names, as an SQL expression for the row named `t`; `NULL` for a dataset without a timestamp.
    var ownInstantSQL: String { timestampIndex.map { instantSQL("t.\(columns[$0].column.sqlIdentifier)") } ?? "NULL" }

    /// The instant that a value of the timestamp column names, as an SQL expression; `NULL` for what is no instant.
    func instantSQL(_ value: String) -> String { "snapsync_instant(\(value)\(timestampUnit.map { ", '\($0.rawValue)'" } ?? ""))" }
}
