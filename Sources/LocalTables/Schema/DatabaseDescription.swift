package import SnapshotModel

/// What ``TableDescriber`` found: the datasets of a database, and the tables that cannot be datasets.
package struct DatabaseDescription: Sendable {
    /// A table that cannot be a dataset.
    package struct UnfitTable: Sendable, Hashable {
        package let table: String
        /// The reasons, in words.
        package let reasons: [String]

        package init(table: String, reasons: [String]) { (self.table, self.reasons) = (table, reasons) }
    }

    /// A table or column that was left out on purpose.
    package struct LeftOut: Sendable, Hashable {
        package let table: String
        /// The column; nil if the whole table is left out.
        package let column: String?
        package let reason: String
    }

    /// The column that says when a row was last changed.
    package struct Timestamp: Sendable, Hashable {
        package let table: String
        /// The column; nil if the table has none.
        package let column: String?
        /// What the column's numbers count; nil for a column of text.
        package let unit: TimestampUnit?
        /// Whether the caller named the column, or said that there is none.
        package let isGiven: Bool
        /// Other columns whose names fit.
        package let others: [String]
    }

    /// The datasets, parents before children.
    package internal(set) var datasets: [DatasetSchema] = []
    package internal(set) var timestamps: [Timestamp] = []
    package internal(set) var unfit: [UnfitTable] = []
    package internal(set) var leftOut: [LeftOut] = []
    /// Notes for the user, in words.
    package internal(set) var notes: [String] = []
    /// Tables without a key.
    var carriedByRowid: [String] = []
    /// Numeric columns whose names suggest a timestamp, but whose values do not tell the unit.
    var unclearTimestamps: [(table: String, column: String)] = []

    /// Adds the notes about tables. More than three tables of one kind share one sentence.
    mutating func noteTables() {
        if carriedByRowid.count > 3 {
            notes.append(
                "\(carriedByRowid.joined(separator: ", ")) have no key and are carried by their rowids, which VACUUM may change; then most of such a table is sent again"
            )
        } else {
            notes += carriedByRowid.map { "\($0) has no key and is carried by its rowid, which VACUUM may change; then most of it is sent again" }
        }
        if unclearTimestamps.count > 3 {
            notes.append(
                "\(unclearTimestamps.map { "\($0.table).\($0.column)" }.joined(separator: ", ")) may say when a row was last changed, but their numbers do not fit one unit; where one does: --timestamp TABLE=COLUMN:UNIT"
            )
        } else {
            notes += unclearTimestamps.map {
                "\($0.table).\($0.column) may say when a row was last changed, but its numbers do not fit one unit; if it does: --timestamp \($0.table)=\($0.column):UNIT"
            }
        }
    }

    /// Moves a dataset to the tables that cannot be datasets.
    package mutating func refuse(_ dataset: DatasetSchema, _ reason: String) {
        datasets.removeAll { $0.name == dataset.name }
        timestamps.removeAll { $0.table == dataset.table }
        unfit.append(UnfitTable(table: dataset.table, reasons: [reason]))
    }
}

/// Which tables to describe, and what the caller decided about them.
package struct DescriptionRequest: Sendable {
    /// The tables; nil for all.
    package var tables: [String]?
    /// Tables to leave out.
    package var skipped: [String]
    /// The timestamp column (``GivenTimestamp``) of each table for which the caller chose one; nil if the caller chose none.
    package var timestamps: [(table: String, column: String?)]

    package init(tables: [String]? = nil, skipped: [String] = [], timestamps: [(table: String, column: String?)] = []) {
        (self.tables, self.skipped, self.timestamps) = (tables, skipped, timestamps)
    }
}
