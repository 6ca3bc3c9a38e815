import Foundation
import LocalStore
import Logging
public import SnapshotEngine
import SnapshotFormat
import SnapshotModel
public import SnapshotVersions
import StrictText

/// Migrates records of the old layout into the tables, in one transaction. The triggers log the changes like any other.
///
/// For each key the latest `updatedAt` wins, among the files and against the existing row. If they are equal, the row wins, then the file whose
/// name comes first.
struct RecordMigrator: Sendable {
    let database: LocalDatabase
    let schemas: [DatasetSchema]
    let directory: String
    let skipsBad: Bool
    let isDryRun: Bool

    func run() throws -> MigrationReport {
        var contents = try RecordFolder(directory: directory, schemas: schemas).read()
        while true {
            // A dry run continues despite bad files, so that it names everything that is wrong.
            guard contents.bad.isEmpty || skipsBad || isDryRun else { throw MigrationReport.refusal(contents.bad, at: directory) }
            do {
                let datasets = try isDryRun ? database.holdingWriteLock { try apply(contents.records, $0) } : database.write { try apply(contents.records, $0) }
                return MigrationReport(
                    database: database.path, directory: directory, isDryRun: isDryRun, datasets: datasets, badFiles: contents.bad, otherFiles: contents.others)
            } catch let found as Dangling {
                contents.records.removeAll { found.files.contains($0.file) }
                contents.bad += found.files.sorted().map { .init(file: $0, reason: "it refers to a row that is neither here nor in another file") }
            }
        }
    }

    /// Thrown to roll the transaction back if entities refer to rows that do not exist.
    private struct Dangling: Error {
        let files: Set<String>
    }

    private func apply(_ records: [OldRecord], _ transaction: LocalTransaction) throws -> [MigrationReport.Dataset] {
        var reports: [MigrationReport.Dataset] = []
        var written: [(DatasetSchema, [EntityKey: String])] = []
        for schema in schemas {
            _ = try transaction.tables.check(of: schema)
            let own = records.filter { $0.schema == schema }
            let latest = Self.latest(own)
            var added: [OldRecord] = [], replaced: [OldRecord] = []
            for record in latest {
                guard let here = try transaction.rows.ownInstant(of: record.key, in: schema) else {
                    added.append(record)
                    continue
                }
                if let instant = record.instant, here != .distantPast, here < instant { replaced.append(record) }
            }
            let chosen = (added + replaced).sorted { $0.key < $1.key }
            try write(chosen, schema, transaction)
            written.append((schema, Dictionary(chosen.map { ($0.key, $0.file) }) { first, _ in first }))
            if own.isEmpty { continue }
            reports.append(
                MigrationReport.Dataset(
                    name: schema.name, files: own.count, added: added.count, replaced: replaced.count, older: latest.count - chosen.count,
                    duplicates: own.count - latest.count, unknownFields: own.reduce(into: Set()) { $0.formUnion($1.unknownFields) }.sorted()))
        }
        // Foreign keys are checked after all datasets, because a child's file may be read before its parent's.
        let dangling = try written.flatMap { schema, files in try transaction.references.danglingKeys(of: schema).compactMap { files[$0] } }
        guard dangling.isEmpty else { throw Dangling(files: Set(dangling)) }
        return reports
    }

    /// The latest record of each key.
    private static func latest(_ records: [OldRecord]) -> [OldRecord] {
        var latest: [EntityKey: OldRecord] = [:]
        for record in records {
            // Records come in the order of their files' names, so of equal ones the first stays.
            if let other = latest[record.key], (other.instant ?? .distantPast) >= (record.instant ?? .distantPast) { continue }
            latest[record.key] = record
        }
        return Array(latest.values)
    }

    private func write(_ records: [OldRecord], _ schema: DatasetSchema, _ transaction: LocalTransaction) throws {
        guard !records.isEmpty else { return }
        let applier = try transaction.rows.updating(schema)
        let reader = ContainerReader(schemas: [schema], read: OldRecord.source(of: records.map(\.json), schema))
        let block = EntityBlock()
        while try reader.next(reusing: block) != nil {
            try block.give(to: applier)
            block.clear()
        }
    }
}

/// The result of `migrate`, or its expected result in a dry run.
public struct MigrationReport: Sendable, Encodable {
    /// The result for one dataset.
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many files held an entity of the dataset.
        public let files: Int
        /// How many entities are new here.
        public let added: Int
        /// How many replaced a row here because they are later.
        public let replaced: Int
        /// How many were skipped because the row here is as late or later.
        public let older: Int
        /// How many were skipped because another file has the same key and is as late or later.
        public let duplicates: Int
        /// Fields that the dataset's schema does not have. They were left out.
        public let unknownFields: [String]
    }

    /// A file that could not be migrated.
    public struct BadFile: Sendable, Encodable {
        /// The path relative to the directory.
        public let file: String
        public let reason: String
    }

    public let database: String
    public let directory: String
    /// Whether this was a dry run, which changes nothing.
    public let isDryRun: Bool
    public let datasets: [Dataset]
    /// Files that could not be migrated. They were skipped if the caller asked for that.
    public let badFiles: [BadFile]
    /// Files that are no records, because their names do not end in `.json`.
    public let otherFiles: [String]

    /// The error for bad files; nil if there are none.
    public var refusal: SyncError? { badFiles.isEmpty ? nil : Self.refusal(badFiles, at: directory) }

    static func refusal(_ bad: [BadFile], at directory: String) -> SyncError {
        let named = bad.prefix(3).map { "\($0.file): \($0.reason)" }.joined(separator: "; ")
        let more = bad.count > 3 ? "; and \(bad.count - 3) more" : ""
        return SyncError(
            .dataRefused, step: .decode, at: directory,
            "\(Format.count(bad.count, "file")) cannot be brought over: \(named)\(more); nothing was changed",
            hint: "--dry-run lists all of them; mend them, or leave them out with --skip-bad")
    }
}

extension SyncEngine {
    /// Migrates records of the old layout, one JSON file each, into the tables of a writer; the next sync publishes them.
    ///
    /// Runs in one transaction. Layout and rules are in docs/from-cloudkit.md. The cloud is not accessed.
    ///
    /// - Parameters:
    ///   - skipsBad: whether to skip files that cannot be migrated; otherwise one such file fails the migration.
    ///   - isDryRun: whether to only report what would be done, with every bad file.
    /// - Throws: ``SyncError`` with `.dataRefused` for bad files, `.refused` at a reader.
    public func migrate(from directory: String, skipsBad: Bool = false, isDryRun: Bool = false) async throws -> MigrationReport {
        try await locked {
            let device = try localDevice(), settings = device.settings
            guard settings.role.publishes else {
                throw SyncError(.refused, step: .apply, at: database.path, "this device is a reader: read-only", hint: "migrate at the writer, and import here")
            }
            if !isDryRun {
                // The triggers must log the migrated rows, so check that they are installed.
                for mended in try device.keepTracking() { logger.notice("\(mended)") }
            }
            let migrator = RecordMigrator(database: database, schemas: settings.datasets, directory: directory, skipsBad: skipsBad, isDryRun: isDryRun)
            return try SyncError.at(.apply) { try migrator.run() }
        }
    }
}
