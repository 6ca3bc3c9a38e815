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
    }

    package let table: String
    package let parentTable: String
    package let count: Int
    /// The first rows in SQLite's order, at most as many as requested.
    package let rows: [Row]
}
