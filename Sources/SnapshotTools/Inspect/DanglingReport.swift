import LocalTables
import SnapshotModel
public import SnapshotVersions
import StrictText

extension VerifyReport {
    /// A row of a synced table whose foreign key refers to a row that does not exist.
    public struct Dangling: Sendable, Encodable {
        public let table: String
        /// The row's key; nil if it has none.
        public let key: ReportedKey?
        /// The table that the foreign key refers to.
        public let parentTable: String
        /// The value that the foreign key refers to, as SQL writes it.
        public let parentKey: String
    }
}

/// Describes foreign keys of the synced tables that refer to missing rows.
struct DanglingReport: Sendable {
    /// How many rows are named for each foreign key.
    static let limit = 5

    let rows: [VerifyReport.Dangling]
    /// A sentence for each foreign key that an application left without parents.
    private(set) var warnings: [String] = []

    init(_ found: [DanglingRows], in database: String) {
        rows = found.flatMap { one in
            one.rows.map {
                VerifyReport.Dangling(
                    table: one.table, key: $0.key.map(ReportedKey.init), parentTable: one.parentTable, parentKey: $0.parentKey)
            }
        }
        for one in found {
            let named =
                one.rows.prefix(Self.limit).map { "row \($0.key?.description ?? "NULL") refers to \($0.parentKey)" }.joined(separator: ", ")
                + (one.count > one.rows.count ? ", …" : "")
            let found =
                "\(database), table \(one.table): \(Format.count(one.count, "row refers to a row", or: "rows refer to rows")) of \(one.parentTable) that \(Format.word(one.count, "is", or: "are")) not there (\(named))"
            warnings.append(
                "\(found); an application left \(Format.word(one.count, "it", or: "them")) so; insert the parent, or change or delete the \(Format.word(one.count, "row", or: "rows"))"
            )
        }
    }
}
