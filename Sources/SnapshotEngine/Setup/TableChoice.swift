import LocalStore

/// The tables of a database to sync, if their description is made from the database itself.
///
///     request.tables = TableChoice(skipped: ["cache"], timestamps: [.init(table: "notes", column: "edited")])
public struct TableChoice: Sendable, Hashable {
    /// The column with the time of a row's last change.
    public struct Timestamp: Sendable, Hashable {
        public let table: String
        /// The column, with a unit if the rows do not show it, for example `mtime:milliseconds`; nil: the table has no such column, whatever its
        /// columns are called.
        public let column: String?

        public init(table: String, column: String?) {
            self.table = table
            self.column = column
        }
    }

    /// The tables to sync; nil for all.
    public var tables: [String]?
    /// The tables that are not synced.
    public var skipped: [String]
    /// Timestamp columns that replace the recognised ones.
    public var timestamps: [Timestamp]

    public init(tables: [String]? = nil, skipped: [String] = [], timestamps: [Timestamp] = []) {
        self.tables = tables
        self.skipped = skipped
        self.timestamps = timestamps
    }

    var request: DescriptionRequest {
        DescriptionRequest(tables: tables, skipped: skipped, timestamps: timestamps.map { ($0.table, $0.column) })
    }
}
