import LocalStore

/// Which tables of a database travel, where their description is to be made from the database itself.
///
///     request.tables = TableChoice(skipped: ["cache"], timestamps: [.init(table: "notes", column: "edited")])
public struct TableChoice: Sendable, Hashable {
    /// The column that says when a row of a table was last changed.
    public struct Timestamp: Sendable, Hashable {
        public let table: String
        /// The column, for numbers whose unit the rows do not say with it, as in `mtime:milliseconds`; nil: none, whatever columns the table has.
        public let column: String?

        public init(table: String, column: String?) {
            self.table = table
            self.column = column
        }
    }

    /// The tables; nil for all.
    public var tables: [String]?
    /// Tables that stay where they are.
    public var skipped: [String]
    /// Timestamp columns, where another than the recognised one is wanted.
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
