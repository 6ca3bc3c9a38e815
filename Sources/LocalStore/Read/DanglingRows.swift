import GRDB
package import SnapshotModel

/// The rows of a synced table that refer to missing rows by one foreign key.
package struct DanglingRows: Sendable {
    /// One such row.
    package struct Row: Sendable {
        /// The row's key; nil for a row without one.
        package let key: EntityKey?
        /// The values by which the row refers to its parent, as SQL literals separated by commas.
        package let parentKey: String
        /// Whether this device keeps the parent in `snapsync_set_aside`. Then an import has left the row without its parent.
        package let isSetAside: Bool
    }

    package let table: String
    package let parentTable: String
    package let count: Int
    /// The rows whose parents are set aside first, then the others, each in SQLite's order; at most as many as requested.
    package let rows: [Row]
}
