package import CloudStore
import DirectoryCloud
import Foundation
import LocalStore
import LocalTables
package import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
package import SyncRuns

/// Backups of this database's data, made before the data was replaced on purpose, in `FILE.snapsync-kept` beside the database.
///
/// The folder is a private cloud: each backup is a version that is written as durably as any other, and `history`, `cat`, `diff` and `verify`
/// read it with `--cloud FILE.snapsync-kept`.
package struct LocalBackups: Sendable {
    package let context: SyncContext

    package init(context: SyncContext) { self.context = context }

    /// The folder of a database.
    package static func path(for database: String) -> String { database + ".snapsync-kept" }

    private var path: String { Self.path(for: context.database.path) }

    /// The zone of the backups. The database's own zone may be continued under another name.
    package static let zone = ZoneID("main")

    /// Writes the datasets' rows, read from one state of the database.
    ///
    /// - Returns: the backup's number, and the sequence number of the last change that it includes.
    package func make(reason: String) async throws -> (number: Int, sequence: Int64) {
        let cloud = try DirectoryCloud.create(at: path, container: "iCloud.org.snapsync.kept", besideOthers: true)
        _ = try await cloud.createZone(Self.zone, creator: context.settings.device, publishers: .many)
        let token = try await cloud.records(in: Self.zone).token
        let number = (token?.number ?? 0) + 1

        let session = try ReadSession(context.database, readers: WorkerThreads.count + 1, consolidating: context.settings.datasets)
        defer { session.end() }
        let sequence = try session.withReader(0) { try $0.transaction.changeLog.lastSequence() }
        var records = [CloudRecord(type: CloudRecord.backupType, name: Self.recordName, fields: ["reason": .string(reason)])]
        var assets: [CloudAsset] = []
        do {
            for schema in context.settings.datasets {
                let fields = try await write(schema, session, number: number, into: cloud)
                assets.append(fields.dataFile)
                records.append(fields.record(of: schema))
            }
            let creator = try await cloud.zone(Self.zone).creator
            // The folder belongs to this device alone, so its clock is authoritative.
            let clock = try await cloud.storeClock(in: Self.zone)
            let draft = CommitDraft(device: creator, saving: records, clock: clock)
            let commit = try await cloud.prepare(draft, after: token, in: Self.zone)
            _ = try await cloud.publish(commit)
        } catch {
            await cloud.discard(assets, in: Self.zone)
            throw error
        }
        return (number, sequence)
    }

    /// The existing backups, newest first; empty if the folder does not exist.
    package func all() async throws -> [LocalBackupReport] {
        guard let cloud = try open() else { return [] }
        return try await cloud.history(in: Self.zone).reversed().compactMap { commit -> LocalBackupReport? in
            guard commit.changesData else { return nil }
            var reason = ""
            if case .string(let text) = commit.saved.first(where: { $0.type == CloudRecord.backupType })?.fields["reason"] { reason = text }
            let byteCount = commit.saved.flatMap(\.assets).reduce(0) { $0 + $1.byteCount + ($1.index?.byteCount ?? 0) }
            return LocalBackupReport(number: commit.token.number, at: commit.timestamp.description, reason: reason, size: byteCount)
        }
    }

    /// Reads the records of a backup, and the cloud that holds it.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the backup was removed.
    package func state(of number: Int) async throws -> (cloud: CloudDatabase, state: ZoneState) {
        guard let cloud = try open() else {
            throw SyncError(
                .nothingThere, step: .fetch, at: path, "the folder with copy \(number) is gone", hint: "look for it in a backup; nothing was changed")
        }
        return (cloud, try await cloud.records(in: Self.zone, at: number, notBefore: nil))
    }

    /// Removes old backups. No other device reads them, so no grace period is needed.
    package func prune(_ policy: RetentionPolicy, dryRun: Bool) async throws -> PruneReport {
        let copies = try await all()
        guard let cloud = try open(), !copies.isEmpty else { return PruneReport(dryRun: dryRun, copies: [], byteCount: 0) }
        if policy.keepLast == 0, policy.keepWithin == nil {
            if !dryRun { try SyncError.at(.store) { try removeAll() } }
            return PruneReport(dryRun: dryRun, copies: copies.map(\.number), byteCount: copies.reduce(0) { $0 + $1.size })
        }
        let creator = try await cloud.zone(Self.zone).creator
        var policy = policy
        (policy.minimumAge, policy.grace) = (.zero, .zero)
        let pruner = ZonePruner(
            cloud: cloud, zone: Self.zone, device: creator, policy: policy, now: context.now()
        ) { checkpoint, record in
            let token = try await cloud.records(in: Self.zone).token
            var draft = CommitDraft(device: creator, saving: [record.record], clock: try await cloud.storeClock(in: Self.zone))
            draft.checkpoint = try await cloud.placeCheckpoint(at: checkpoint, in: Self.zone)
            return try await cloud.publish(cloud.prepare(draft, after: token, in: Self.zone)).number
        }
        return try await pruner.run(dryRun: dryRun)
    }

    /// Removes the cloud. Files with rows that a first import displaced stay, because they are no backups of a whole state.
    private func removeAll() throws {
        // Remove `cloud.json` first: without it there are no backups, so a run that is killed in between leaves none.
        for name in ["cloud.json", "private"] { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
        rmdir(path)
    }

    private func open() throws -> DirectoryCloud? {
        // The folder may exist without a cloud, because a first import writes displaced rows into it.
        guard FileManager.default.fileExists(atPath: "\(path)/cloud.json") else { return nil }
        return try DirectoryCloud(path: path)
    }

    private func write(_ schema: DatasetSchema, _ session: ReadSession, number: Int, into cloud: DirectoryCloud) async throws -> DatasetRecord {
        let shape = try session.withReader(0) { try $0.transaction.tables.check(of: schema) }
        // No instant may be later than the version's: this clock may be behind those of other devices.
        let now = try session.withReader(0) { reader in
            let known = try reader.transaction.datasetStates.all().map(\.syncTimestamp) + [reader.transaction.changeLog.latestInstant() ?? .distantPast]
            return known.reduce(context.now()) { max($0, $1) }
        }
        let exporter = DatasetExporter(schema: schema, shape: shape, session: session, previous: nil, syncTimestamp: now, progress: nil)
        let writer = try await cloud.newAsset(for: schema.recordName, number: number, kind: .snapshot, in: Self.zone)
        do {
            guard case .stored(let asset, let report) = try exporter.run(into: writer) else {
                throw SyncError(.inputOutput, step: .store, at: path, "a copy of \(schema.name) was not written")
            }
            return DatasetRecord(dataFile: asset, syncTimestamp: now, recordCount: report.recordCount)
        } catch {
            writer.abandon()
            throw SyncError(error, step: .store)
        }
    }

    private static let recordName = "copy"
}

extension SyncVersions {
    /// Removes old backups of this database's data that `replace`, `restore` and `undo` made beside it.
    ///
    /// A policy that keeps the last 0 removes all of them.
    package func pruneCopies(_ policy: RetentionPolicy, dryRun: Bool = false) async throws -> PruneReport {
        try await engine.locked {
            let backups = LocalBackups(context: try engine.context()), report = try await backups.prune(policy, dryRun: dryRun)
            if !dryRun {
                let left = Set(try await backups.all().map(\.number))
                // What is gone cannot be brought back.
                try engine.database.write { transaction in
                    if let copy = try transaction.state.undoPoint()?.copy, !left.contains(copy) { try transaction.state.undoPoint.set(nil) }
                }
            }
            return report
        }
    }
}

/// A backup of earlier data beside the database, which `undo` can restore.
public struct LocalBackupReport: Sendable, Encodable {
    /// The backup's number. It is the version to inspect with `--cloud FILE.snapsync-kept`.
    public let number: Int
    public let at: String
    /// Why the backup was made, as a sentence.
    public let reason: String
    /// The size of its files in bytes.
    public let size: Int
}
