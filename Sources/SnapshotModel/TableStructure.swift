/// How a dataset's table is built, beyond what its ``DatasetSchema`` says: enough to make the table elsewhere.
///
/// Every part is a name or one of a closed set of words. There is no SQL text in it.
package struct TableStructure: Hashable, Sendable, Codable {
    /// The types that a column of a table that is made can be declared with. Each has the affinity of the column that it describes.
    package enum DeclaredType: String, Hashable, Sendable, Codable, CaseIterable {
        case integer, int, text, real, blob, numeric, boolean, date, datetime, timestamp, time, decimal, json, any, untyped

        /// The type as `CREATE TABLE` has it.
        package var sql: String { self == .untyped ? "" : rawValue.uppercased() }
    }

    /// SQLite's own collations.
    package enum Collation: String, Hashable, Sendable, Codable, CaseIterable {
        case binary, nocase, rtrim
    }

    /// What happens to a child when its parent is deleted or gets another key.
    package enum Action: String, Hashable, Sendable, Codable, CaseIterable {
        case noAction, restrict, setNull, setDefault, cascade

        /// The action as `CREATE TABLE` has it, and as `PRAGMA foreign_key_list` says it.
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
        package let column: String
        package let declared: DeclaredType
        package let notNull: Bool
        package let collation: Collation

        package init(column: String, declared: DeclaredType, notNull: Bool, collation: Collation) {
            self.column = column
            self.declared = declared
            self.notNull = notNull
            self.collation = collation
        }
    }

    /// Columns whose values together no two rows have.
    package struct Unique: Hashable, Sendable, Codable {
        package let columns: [String]
        /// How each column is compared.
        package let collations: [Collation]

        package init(columns: [String], collations: [Collation]) {
            self.columns = columns
            self.collations = collations
        }
    }

    package struct Reference: Hashable, Sendable, Codable {
        package let columns: [String]
        /// The dataset that is referred to.
        package let parent: String
        /// Columns of the parent's table.
        package let parentColumns: [String]
        package let onDelete: Action
        package let onUpdate: Action

        package init(columns: [String], parent: String, parentColumns: [String], onDelete: Action, onUpdate: Action) {
            self.columns = columns
            self.parent = parent
            self.parentColumns = parentColumns
            self.onDelete = onDelete
            self.onUpdate = onUpdate
        }
    }

    /// The columns that the dataset describes, in the table's order.
    package let columns: [Column]
    /// The columns of the PRIMARY KEY, in its order; empty if there is none.
    package let primaryKey: [String]
    package let autoincrement: Bool
    package let withoutRowid: Bool
    package let strict: Bool
    /// The UNIQUE constraints and indexes, without those on expressions and those with a WHERE.
    package let unique: [Unique]
    /// The foreign keys whose parents travel, too.
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
