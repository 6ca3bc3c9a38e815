import GRDB
package import SnapshotModel

/// The rows of one foreign key of a synced table that refer to rows that are not there.
package struct DanglingRows: Sendable {
    /// One of them.
    package struct Row: Sendable {
        /// The row's key; nil for a row without one.
        package let key: EntityKey?
        /// What the row refers to, as SQL writes it; of several columns with commas between them.
        package let parentKey: String
        /// Whether this device keeps the parent in `snapsync_set_aside`: then an import has left the row without it.
        package let isSetAside: Bool
    }

    package let table: String
    package let parentTable: String
    package let count: Int
    /// Those whose parents are set aside first, then the others, each in the order in which SQLite finds them; no more than asked for.
    package let rows: [Row]
}
