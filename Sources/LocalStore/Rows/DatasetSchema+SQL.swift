import SnapshotModel

extension DatasetSchema {
    /// The instant that a row's own timestamp names, as an SQL expression for the row named `t`; `NULL` for a dataset without a timestamp.
    var ownInstantSQL: String {
        timestampIndex.map { "snapsync_instant(t.\(columns[$0].column.sqlIdentifier))" } ?? "NULL"
    }
}
