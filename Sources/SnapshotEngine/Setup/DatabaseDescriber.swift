import Foundation
import LocalTables
package import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The datasets that ``SyncEngine/describe(_:tables:)`` made of a database's tables.
public struct DescribeReport: Sendable, Encodable {
    /// A table that becomes a dataset.
    public struct Table: Sendable, Encodable {
        public let table: String
        public let dataset: String
        /// The column with the time of a row's last change; nil if there is none.
        public let timestamp: String?
        /// The unit of that column's numbers, with its name in dataset files; nil for RFC 3339 text.
        public let timestampUnit: String?
        /// Columns with a suitable name that were not chosen as the timestamp.
        public let otherTimestamps: [String]
    }

    /// A table that cannot be synced.
    public struct UnfitTable: Sendable, Encodable {
        public let table: String
        public let reasons: [String]

        /// The table and its reasons in one line.
        public var sentence: String { "\(table): \(reasons.joined(separator: "; "))" }
    }

    /// A table or column that was left out.
    public struct LeftOut: Sendable, Encodable {
        public let table: String
        public let column: String?
        public let reason: String
    }

    public let database: String
    /// The description, as a dataset file has it.
    public let file: DatasetFileDocument
    public let tables: [Table]
    public let unfit: [UnfitTable]
    public let leftOut: [LeftOut]
    /// Notes for the user, one sentence each.
    public let notes: [String]
}

/// A dataset file as a value that can be encoded.
public struct DatasetFileDocument: Sendable, Encodable {
    package let datasets: [DatasetSchema]

    package init(_ datasets: [DatasetSchema]) { self.datasets = datasets }

    public func encode(to encoder: any Encoder) throws { try DatasetFile.encode(datasets, to: encoder) }

    /// The file's text, one line for each column; nil if there is no dataset to describe.
    public var text: String? { datasets.isEmpty ? nil : DatasetFile.text(datasets) }
}

extension DescribeReport {
    init(_ found: DatabaseDescription, database: String) {
        let stamps = Dictionary(found.timestamps.map { ($0.table.exact, $0) }, uniquingKeysWith: { first, _ in first })
        self.init(
            database: database, file: DatasetFileDocument(found.datasets),
            tables: found.datasets.map {
                Table(
                    table: $0.table, dataset: $0.name, timestamp: stamps[$0.table.exact]?.column, timestampUnit: $0.timestampUnit?.rawValue,
                    otherTimestamps: stamps[$0.table.exact]?.others ?? [])
            },
            unfit: found.unfit.map { UnfitTable(table: $0.table, reasons: $0.reasons) },
            leftOut: found.leftOut.map { LeftOut(table: $0.table, column: $0.column, reason: $0.reason) }, notes: found.notes)
    }
}

/// Describes databases for `describe` and `init`.
enum DatabaseDescriber {
    /// Describes a database.
    ///
    /// - Parameter role: the role that the database will get; nil if unknown. A reader's tables must also be writable without the application.
    static func describe(_ database: LocalDatabase, _ choice: TableChoice, role: SyncRole? = nil) throws -> DatabaseDescription {
        var found = try database.read { try $0.describer.describe(choice.request) }
        if role == .peer {
            let hidden = try database.read { transaction in try found.datasets.filter { try transaction.tables.hasHiddenKey($0) } }
            for schema in hidden { found.refuse(schema, "it has no key besides the rowid, and two peers would give one rowid to different rows") }
        }
        let survey = try TriggerSurvey(database, found.datasets)
        for schema in found.datasets {
            guard let reason = survey.unwritable[schema.name] else { continue }
            if let lack = survey.needsForKeys[schema.name] {
                found.refuse(schema, "its key or a UNIQUE index needs what only the application registers with SQLite: \(lack)")
            } else if role == .reader || role == .peer {
                found.refuse(schema, "it cannot be written without the application: \(reason)")
            }
        }
        return found
    }

    /// Describes the datasets of a database that is about to be set up.
    ///
    /// - Parameter request: the set-up that the tables are for. If other tables' keys would be refused next, the error says that as well.
    /// - Throws: ``SyncError`` with `.refused`, which lists all tables that cannot be synced, if there are any.
    static func datasets(of database: LocalDatabase, _ choice: TableChoice, role: SyncRole, for request: SetupRequest? = nil) throws -> DatabaseDescription {
        let found = try describe(database, choice, role: role)
        guard found.unfit.isEmpty else {
            let count = found.unfit.count
            var next: SyncError?
            if let request, role == .peer {
                do throws { try database.read { try SharedKeys(found.datasets, in: $0).refuse(request) } } catch { next = error as? SyncError }
            }
            throw SyncError(
                .refused, step: .open, at: database.path, "\(Format.count(count, "table")) cannot be synced",
                hint: (next?.hint.map { "\($0); " } ?? "")
                    + "change \(Format.word(count, "the table, or leave it", or: "the tables, or leave them")) out: --exclude \(found.unfit.map(\.table).tableList)"
            ).with(details: found.unfit.map { DescribeReport.UnfitTable(table: $0.table, reasons: $0.reasons).sentence } + (next.map { [$0.reason] } ?? []))
        }
        guard !found.datasets.isEmpty else {
            throw SyncError(
                .refused, step: .open, at: database.path, "no table is left that can be synced", hint: "make the tables first, or exclude fewer of them")
        }
        return found
    }
}
