import Foundation
import LocalStore
import SnapshotFormat
import SnapshotModel
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
