import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotEngine
import SnapshotModel
import SnapshotVersions
import StrictText
public import SyncRuns

/// The result of a restore check. It names every problem; the check does not stop at the first one.
public struct RestoreCheckReport: Sendable, Encodable {
    public struct Dataset: Sendable, Encodable {
        public let name: String
        /// How many rows the version has.
        public let recordCount: Int
        /// How many rows the restored table has; nil if they could not be written.
        public let restoredCount: Int?
        /// How many rows differ from the version; nil if they could not be compared.
        public let differences: Int?
    }

    /// The version that was restored.
    public let version: Int
    public let datasets: [Dataset]
    /// What is wrong, each in one sentence.
    public let problems: [String]
    /// Findings that are no damage: rows that refer to missing rows and were published so.
    public let warnings: [String]
    public let milliseconds: Int
}

/// Restores one version into a temporary database, compares the two, and removes the database.
///
/// The tables are created as the version describes them. Nothing is written to the cloud. Disk space: the version's rows, in the folder for
/// temporary files.
struct RestoreChecker: Sendable {
    let inspector: SnapshotInspector
    let progress: ProgressHandler?

    /// - Parameter number: nil means the newest version.
    /// - Throws: ``SyncError`` if the version cannot be found or described, or the database cannot be created.
    func run(version number: Int?) async throws -> RestoreCheckReport {
        let begin = ContinuousClock.now
        let state = try await inspector.records(at: number)
        try inspector.refuseSealed(state)
        guard let zone = try ZoneDescriptions(state, of: inspector.zone) else {
            throw SyncError(
                .nothingThere, step: .fetch, at: inspector.zone.place, "nothing has been published yet", hint: "run snapsync export on the writer first")
        }
        let folder = try makeFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let database = try LocalDatabase(path: folder + "/restored.db", creating: true)
        defer { database.remove() }
        _ = try database.write { try zone.createTables(in: $0) }
        var datasets: [RestoreCheckReport.Dataset] = [], problems: [String] = []
        for schema in zone.datasets {
            guard let record = state.record(schema.recordName) else { continue }
            let fields = DatasetRecord(record)
            var restored: Int?, differences: Int?
            do {
                let version = try await DatasetVersion(record, as: schema, in: inspector.cloud, zone: inspector.zone).loaded()
                restored = try fill(database, version)
                let found = try compare(database, version)
                differences = found.count
                if let first = found.first {
                    problems.append("\(schema.name): \(Format.count(found.count, "row")) differ from the version; the first has the key \(first)")
                }
                if restored != version.recordCount {
                    problems.append("\(schema.name): the table has \(Format.count(restored ?? 0, "row")), and the version \(Format.count(version.recordCount))")
                }
            } catch {
                let error = SyncError(error, step: .fetch)
                guard [.dataRefused, .refused].contains(error.code) else { throw error }
                problems.append("\(schema.name): \(error)")
            }
            datasets.append(.init(name: schema.name, recordCount: fields?.recordCount ?? 0, restoredCount: restored, differences: differences))
        }
        problems += try database.integrityCheck().map { "SQLite finds the restored database damaged: \($0)" }
        let dangling = try database.read {
            DanglingReport(try $0.references.danglingRows(of: zone.datasets, limit: DanglingReport.limit), in: "the restored database")
        }
        return RestoreCheckReport(
            version: state.token?.number ?? 0, datasets: datasets, problems: problems, warnings: dangling.warnings,
            milliseconds: Int((ContinuousClock.now - begin) / .milliseconds(1)))
    }

    /// Writes all rows of a version. Returns the number of rows in the table afterwards.
    private func fill(_ database: LocalDatabase, _ version: DatasetVersion) throws -> Int {
        let runs = try version.runs().indices
        return try database.write { transaction in
            let applier = try transaction.rows.inserting(into: version.schema)
            try version.read(Array(runs)) { run in
                try run.send(to: applier)
                progress?(
                    SyncProgress(step: .apply, dataset: version.schema.name, entityCount: applier.count, expectedCount: version.recordCount))
            }
            return try transaction.rows.rowCount(of: version.schema)
        }
    }

    /// Compares the table with the version by block hashes, and row by row in blocks that differ.
    private func compare(_ database: LocalDatabase, _ version: DatasetVersion) throws -> (count: Int, first: String?) {
        let session = try ReadSession(database, readers: WorkerThreads.count)
        defer { session.end() }
        let runs = try version.differingRuns(from: session, of: version.schema)
        var count = 0, first: String?
        try session.withReader(0) { reader in
            try version.compare(runs, with: reader.ranges(of: version.schema)) { found in
                count += found.differingKeys.count + found.keylessCount
                first = first ?? found.differingKeys.first?.description
            }
        }
        return (count, first ?? (count > 0 ? "that no version can have" : nil))
    }

    /// Creates a folder that only this user can read.
    private func makeFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("snapsync-restore-\(UUID().uuidString)").path
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            throw SyncError(
                .inputOutput, step: .open, at: folder, "the folder for the trial restore cannot be made",
                hint: "make room there, or name another folder with TMPDIR")
        }
        return folder
    }
}

extension SnapshotInspector {
    /// Restores a version into a temporary database, compares it with the version, and removes the database.
    ///
    /// With a database, the check is recorded there for ``SyncEngine/status()``.
    ///
    /// - Parameter version: nil means the newest.
    /// - Throws: ``SyncError`` if the version does not exist, or no database can be created in the folder for temporary files.
    public func checkRestore(version: Int? = nil, progress: ProgressHandler? = nil) async throws -> RestoreCheckReport {
        try await WorkerThreads.host {
            let report = try await RestoreChecker(inspector: self, progress: progress).run(version: version)
            if let context {
                let done = RestoreCheckRecord(at: context.now(), version: report.version, problemCount: report.problems.count)
                try context.database.write { try $0.state.lastRestoreCheck.set(done) }
            }
            return report
        }
    }
}
