import CloudStore
import Foundation
import LocalTables
import SnapshotModel
import SnapshotVersions
import StrictText

/// The datasets of a database that is being set up, and the source of their description: a file, the database itself, the zone, or the built-in
/// one.
struct DatasetChoice {
    let datasets: [DatasetSchema]
    /// The description of the tables, if it was made from the database.
    var described: DatabaseDescription?
    /// The zone's descriptions, if the datasets come from there.
    var fromZone: ZoneDescriptions?

    private init(datasets: [DatasetSchema], fromZone: ZoneDescriptions? = nil) { (self.datasets, self.fromZone) = (datasets, fromZone) }

    /// Finds the datasets of a request.
    ///
    /// - Parameter filed: the datasets of the request's file, or the built-in ones (``schemas(_:)``).
    /// - Throws: ``SyncError`` with `.refused` for a table that cannot be used; `.nothingThere` if the zone would have to describe the tables and has
    ///   no version yet.
    init(_ request: SetupRequest, filed: [DatasetSchema], backend: CloudDatabase?, in database: LocalDatabase) async throws {
        if let tables = request.tables {
            try self.init(describing: tables, request, in: database)
        } else if request.datasets == nil, !request.assumesBuiltIn,
            var found = try await Self.descriptions(in: ZoneID(request.zone), request, backend: backend, database: database)
        {
            if request.role == .reader { try found.choose(request.zoneTables) }
            self.init(datasets: try database.read { transaction in try found.datasets.map(transaction.tables.byOwnNames) }, fromZone: found)
        } else if request.datasets == nil, !request.assumesBuiltIn, request.role.publishes, !request.createsTables || request.tablesOfNewZone != nil {
            try self.init(describing: request.tablesOfNewZone ?? .all, request, in: database)
        } else {
            self.init(datasets: filed)
        }
    }

    /// Describes tables of the database.
    private init(describing tables: TableChoice, _ request: SetupRequest, in database: LocalDatabase) throws {
        let found = try DatabaseDescriber.datasets(of: database, tables, role: request.role, for: request)
        datasets =
            try request.readerEdits.map { edits in
                try database.read {
                    try edits.apply(to: found.datasets, sharesKeys: request.sharesKeys, in: $0, at: request.database)
                }
            } ?? found.datasets
        described = found
    }

    /// Returns the zone's datasets; nil if this device must describe them.
    private static func descriptions(in zone: ZoneID, _ request: SetupRequest, backend: CloudDatabase?, database: LocalDatabase) async throws
        -> ZoneDescriptions?
    {
        let cloud: CloudDatabase
        do {
            cloud = try backend ?? CloudLocation.open(request.cloud)
            _ = try await cloud.zone(zone)
        } catch {
            // A publisher may be about to make the zone.
            guard !request.role.publishes || request.joins else { return nil }
            throw error
        }
        if let found = try await ZoneDescriptions(zone, in: cloud) { return found }
        let hasBuiltIn = try database.read { transaction in
            Set(try transaction.describer.applicationTables().map(\.folded)).isSuperset(of: DatasetSchema.builtIn.map { $0.table.folded })
        }
        guard request.role.publishes ? request.joins : !hasBuiltIn else { return nil }
        let creator = try await cloud.zone(zone).creator
        throw SyncError(
            .nothingThere, step: .open, at: zone.place, "nothing has been published yet, so it does not say which tables there are",
            hint: "run snapsync sync on \(creator) first, then this command again; or give a dataset file (--datasets)")
    }

    /// Returns the datasets that a file describes, or the built-in ones.
    static func schemas(_ path: String?) throws -> [DatasetSchema] {
        guard let path else { return DatasetSchema.builtIn }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SyncError(.nothingThere, step: .open, at: path, "the dataset file cannot be read", hint: "check the path given with --datasets")
        }
        do {
            return try DatasetFile.decode(data)
        } catch {
            throw SyncError(.refused, step: .open, at: path, DatasetFile.explain(error), hint: "docs/datasets.md describes the dataset file")
        }
    }
}

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

        public init(table: String, column: String?) { (self.table, self.column) = (table, column) }
    }

    /// The tables to sync; nil for all.
    public var tables: [String]?
    /// The tables that are not synced.
    public var skipped: [String]
    /// Timestamp columns that replace the recognised ones.
    public var timestamps: [Timestamp]

    public init(tables: [String]? = nil, skipped: [String] = [], timestamps: [Timestamp] = []) {
        (self.tables, self.skipped, self.timestamps) = (tables, skipped, timestamps)
    }

    /// All tables that can be synced.
    public static let all = TableChoice()

    /// All tables but these. If another table cannot be synced, the set-up names it.
    public static func all(except skipped: [String]) -> TableChoice { TableChoice(skipped: skipped) }

    /// Only these tables.
    public static func only(_ tables: [String]) -> TableChoice { TableChoice(tables: tables) }

    var request: DescriptionRequest {
        DescriptionRequest(tables: tables, skipped: skipped, timestamps: timestamps.map { ($0.table, $0.column) })
    }
}

/// The tables in which readers may insert, change and delete rows, by messages to a publisher.
///
///     request.readerEdits = .tables(["tasks", "lists"])
public enum ReaderEdits: Sendable, Hashable {
    case none, all
    /// These tables, named by table or dataset.
    case tables([String])
}

extension ReaderEdits {
    /// Returns the datasets with the edits that readers may send. The built-in datasets keep their own messages unless they are named.
    ///
    /// - Parameter sharesKeys: whether the user accepts that a reader and another device may give one integer key to different rows.
    /// - Throws: ``SyncError`` with `.refused` for a table that does not exist, or in which two devices must not insert.
    func apply(to datasets: [DatasetSchema], sharesKeys: Bool, in transaction: LocalTransaction, at path: String) throws -> [DatasetSchema] {
        let isChosen: (DatasetSchema) -> Bool
        switch self {
        case .none: isChosen = { _ in false }
        case .all: isChosen = { !$0.takesBuiltInMessages }
        case .tables(let names):
            let wanted = Set(names.map(\.folded))
            isChosen = { wanted.contains($0.name.folded) || wanted.contains($0.table.folded) }
            let known = Set(datasets.flatMap { [$0.name.folded, $0.table.folded] })
            let unknown = names.filter { !known.contains($0.folded) }
            guard unknown.isEmpty else {
                throw SyncError(
                    .refused, step: .open, at: path, "no synced table is named \(unknown.joined(separator: ", "))",
                    hint: "the tables are \(datasets.map(\.table).joined(separator: ", "))"
                ).asSlip
            }
        }
        let edited = try datasets.map { schema in
            if isChosen(schema) { return try schema.with { $0.messages = .wholeRows } }
            // Choosing whole tables does not remove what a dataset file allows for single columns.
            return schema.messages.rows && !schema.takesBuiltInMessages ? try schema.with { $0.messages = MessagePolicy.none } : schema
        }
        try Self.refuse(edited, sharesKeys: sharesKeys, in: transaction, at: path)
        return edited
    }

    /// Refuses tables in which SQLite assigns the keys and readers may insert: two devices would give one key to different rows.
    static func refuse(_ datasets: [DatasetSchema], sharesKeys: Bool, in transaction: LocalTransaction, at path: String) throws {
        let inserting = datasets.filter { $0.messages.rows && !$0.takesBuiltInMessages }
        if let hidden = try inserting.first(where: { try transaction.tables.hasHiddenKey($0) }) {
            throw SyncError(
                .refused, step: .open, at: "\(path), table \(hidden.table)",
                "dataset \(hidden.name): the table has no key but the rowid, and a reader would give other rows the same one",
                hint: "give the table a PRIMARY KEY, or leave it out of --reader-edits")
        }
        let made = try inserting.filter { try transaction.tables.hasRowidKey($0) }
        guard !made.isEmpty, !sharesKeys else { return }
        throw SyncError(
            .refused, step: .open, at: path,
            "SQLite gives new rows the next free integer as their key, so a reader and another device that insert at the same time give one key to two rows: \(made.map(\.name).joined(separator: ", "))",
            hint:
                "give the rows a text key that is unique everywhere; leave the table out of --reader-edits; or, where readers only change and delete rows, or the later of two rows may keep the key, accept it with --shared-keys: snapsync conflicts keeps the other row"
        )
    }
}
