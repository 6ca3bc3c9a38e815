package import StrictText

/// The structure of a dataset's table, beyond its ``DatasetSchema``: enough to create the table on another device.
///
/// It consists only of names and of words from closed sets, without SQL text.
package struct TableStructure: Hashable, Sendable, Codable {
    /// The types with which a created table can declare a column. Each has the affinity of the column that it describes.
    package enum DeclaredType: String, Hashable, Sendable, Codable, CaseIterable {
        case integer, int, text, real, blob, numeric, boolean, date, datetime, timestamp, time, decimal, json, any, untyped

        /// The type in a `CREATE TABLE` statement.
        package var sql: String { self == .untyped ? "" : rawValue.uppercased() }
    }

    /// SQLite's own collations.
    package typealias Collation = KeyCollation

    /// What happens to a child when its parent is deleted or its key changes.
    package enum Action: String, Hashable, Sendable, Codable, CaseIterable {
        case noAction, restrict, setNull, setDefault, cascade

        /// The action as `CREATE TABLE` and `PRAGMA foreign_key_list` write it.
        package var sql: String {
            switch self {
            case .noAction: "NO ACTION"
            case .restrict: "RESTRICT"
            case .setNull: "SET NULL"
            case .setDefault: "SET DEFAULT"
            case .cascade: "CASCADE"
            }
        }
    }

    package struct Column: Hashable, Sendable, Codable {
        /// The name of the table's column.
        @ExactText package var column: String
        package let declared: DeclaredType
        package let notNull: Bool
        package let collation: Collation
        /// What a row gets that is inserted without the column; nil for NULL, and for an expression, which does not travel.
        package let `default`: Default?

        package init(column: String, declared: DeclaredType, notNull: Bool, collation: Collation, default: Default? = nil) {
            _column = ExactText(column)
            self.declared = declared
            self.notNull = notNull
            self.collation = collation
            self.default = `default`
        }
    }

    /// What a column is without a value of its own.
    package enum Default: Hashable, Sendable {
        case literal(TableLiteral)
        /// The time of the statement in UTC.
        case current(CurrentTime)

        /// The default as `CREATE TABLE` has it.
        package var sql: String {
            switch self {
            case .literal(let literal): literal.sql
            case .current(let time): "CURRENT_\(time.rawValue.uppercased())"
            }
        }
    }

    /// The parts of the present time that a default can be.
    package enum CurrentTime: String, Hashable, Sendable, Codable, CaseIterable {
        case date, time, timestamp
    }

    /// Columns whose combined values are unique.
    package struct Unique: Hashable, Sendable, Codable {
        package let columns: [String]
        /// The collation of each column.
        package let collations: [Collation]

        package init(columns: [String], collations: [Collation]) { (self.columns, self.collations) = (columns, collations) }
    }

    package struct Reference: Hashable, Sendable, Codable {
        package let columns: [String]
        /// The name of the parent dataset.
        package let parent: String
        package let parentColumns: [String]
        package let onDelete: Action
        package let onUpdate: Action
        /// Whether SQLite checks the foreign key at the end of a transaction; nil if not, so that such a document is as it always was.
        package let deferred: Bool?

        package init(columns: [String], parent: String, parentColumns: [String], onDelete: Action, onUpdate: Action, deferred: Bool? = nil) {
            self.columns = columns
            self.parent = parent
            self.parentColumns = parentColumns
            self.onDelete = onDelete
            self.onUpdate = onUpdate
            self.deferred = deferred
        }
    }

    /// The columns that the dataset describes, in the table's order.
    package let columns: [Column]
    /// The columns of the PRIMARY KEY, in order; empty if there is none.
    package let primaryKey: [String]
    package let autoincrement: Bool
    package let withoutRowid: Bool
    package let strict: Bool
    /// The UNIQUE constraints and indexes, except indexes on expressions and partial indexes.
    package let unique: [Unique]
    /// The foreign keys whose parents are also synced.
    package let references: [Reference]

    package init(
        columns: [Column], primaryKey: [String], autoincrement: Bool, withoutRowid: Bool, strict: Bool, unique: [Unique], references: [Reference]
    ) {
        self.columns = columns
        self.primaryKey = primaryKey
        self.autoincrement = autoincrement
        self.withoutRowid = withoutRowid
        self.strict = strict
        self.unique = unique
        self.references = references
    }
}

extension TableStructure.Default: Codable {
    private enum CodingKeys: String, CodingKey {
        case current
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self =
            try container.decodeIfPresent(TableStructure.CurrentTime.self, forKey: .current).map { .current($0) } ?? .literal(TableLiteral(from: decoder))
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .literal(let literal): try literal.encode(to: encoder)
        case .current(let time):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(time, forKey: .current)
        }
    }
}
