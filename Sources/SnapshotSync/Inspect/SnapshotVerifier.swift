import CloudStore
import Crypto
import Foundation
import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// What `verify` found; every problem is named, and the first one does not end the search.
public struct VerifyReport: Sendable, Encodable {
    public struct Asset: Sendable, Encodable {
        /// `notifications@42`.
        public let name: String
        public let file: String
        public let recordCount: Int
        public let size: Int
        public let blocks: Int
    }

    /// The zone's newest version.
    public let newestVersion: Int
    /// How many versions were looked at.
    public let versions: Int
    /// The assets that are sound from the first byte to the last.
    public let sound: [Asset]
    /// What is wrong, each in one sentence with what to do.
    public let problems: [String]
    /// Whether the local tables are the applied version; nil if that was not asked.
    public let localMatches: Bool?
}

/// Reads versions from the commit to the last byte: chain, sizes, hashes, JSON, order, counts.
struct SnapshotVerifier: Sendable {
    let inspector: SnapshotInspector
    let progress: ProgressHandler?

    func run(all: Bool, local: Bool) async throws -> VerifyReport {
        let newest = try await inspector.records(at: nil)
        let number = newest.token?.number ?? 0
        var records = newest.records.map { ($0, number) }
        var versions = 1
        if all {
            let commits = try await SyncError.at(.fetch) { try await inspector.cloud.history(in: inspector.zone) }
            records = commits.flatMap { commit in commit.saved.map { ($0, commit.token.number) } }
            // What an older, pruned commit saved and a kept one still shows.
            records += newest.records.filter { record in !records.contains { $0.0 == record } }.map { ($0, number) }
            versions = commits.count
        }

        var sound: [VerifyReport.Asset] = []
        var problems: [String] = []
        var passed: Set<String> = []
        for (record, version) in records {
            do {
                sound += try await check(record, passing: &passed)
            } catch let error as SyncError where error.code == .dataRefused || error.code == .tryAgainLater {
                let file = SnapshotFields(record)?.dataFile.path ?? "no file"
                problems.append("version \(version), \(record.name) (\(file)): \(error)")
            }
        }
        var localMatches: Bool?
        if local {
            let differences = try await compareLocal()
            localMatches = differences.isEmpty
            problems += differences
        }
        return VerifyReport(newestVersion: number, versions: versions, sound: sound, problems: problems, localMatches: localMatches)
    }

    /// Checks the assets of a record that have not passed yet: the snapshot asset, and every change asset that it names.
    private func check(_ record: CloudRecord, passing passed: inout Set<String>) async throws -> [VerifyReport.Asset] {
        let asset = try await inspector.open(record)
        var sound: [VerifyReport.Asset] = []
        if !passed.contains(asset.fields.dataFile.path) {
            try await WorkerThreads.run { try check(asset) }
            passed.insert(asset.fields.dataFile.path)
            sound.append(
                VerifyReport.Asset(
                    name: asset.place, file: asset.fields.dataFile.path, recordCount: asset.index.recordCount, size: asset.index.size,
                    blocks: asset.index.blocks.count))
        }
        let schema = try asset.step(.verify) { try asset.index.schema(table: asset.index.dataset) }
        let files = asset.fields.changeFiles + (asset.fields.changeFile.map { [$0] } ?? [])
        for file in files where !passed.contains(file.path) {
            let change = try await ChangeAsset(file, dataset: asset.index.dataset, in: inspector.cloud, zone: inspector.zone)
            let count = try await WorkerThreads.run { try change.read(schema).entityKeys.count }
            passed.insert(file.path)
            sound.append(VerifyReport.Asset(name: change.place, file: file.path, recordCount: count, size: file.byteCount, blocks: 0))
        }
        return sound
    }

    private func check(_ asset: SnapshotAsset) throws {
        try checkFileHash(asset)
        let schema = try asset.step(.verify) { try asset.index.schema(table: asset.index.dataset) }
        var count = 0
        try BlockPipeline(asset: asset, workerCount: WorkerThreads.count).run(.entitiesAndHash(schema)) { _, block in
            count += block.count
            progress?(SyncProgress(step: .verify, dataset: asset.index.dataset, entityCount: count, expectedCount: asset.index.recordCount))
        }
        try asset.checkTail()
    }

    private func checkFileHash(_ asset: SnapshotAsset) throws {
        var hash = SHA256()
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { piece.deallocate() }
        var offset = 0
        while offset < asset.reader.byteCount {
            let part = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(piece.count, asset.reader.byteCount - offset)])
            try SyncError.at(.fetch) { try asset.reader.read(into: part, at: offset) }
            hash.update(bufferPointer: UnsafeRawBufferPointer(part))
            offset += part.count
        }
        let digest = hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        guard digest == asset.fields.dataFile.sha256 else {
            throw SyncError(.dataRefused, step: .verify, at: asset.place, "the file does not match the hash in its commit", hint: SnapshotAsset.hint)
        }
    }

    /// Encodes the local rows and compares them, block by block, with the version that was applied.
    private func compareLocal() async throws -> [String] {
        guard let device = inspector.device else {
            throw SyncError(.refused, step: .verify, at: "verify", "--local needs a database", hint: "give it with --db")
        }
        guard let applied = inspector.applied else { return ["\(device.database.path): nothing was imported or exported yet, so there is nothing to compare with"] }
        let state = try await inspector.records(at: applied.number)
        var problems: [String] = []
        for schema in device.settings.datasets {
            guard let record = state.record(schema.recordName) else { continue }
            let asset = try await SnapshotAsset(of: record, dataset: schema.name, in: inspector.cloud, zone: inspector.zone)
            let changes = try await ChangeAsset.open(asset.fields.changeFiles, dataset: schema.name, in: inspector.cloud, zone: inspector.zone)
            let difference = try await WorkerThreads.run { try LocalComparison(device: device, schema: schema, asset: asset, changes: changes).firstDifference() }
            guard let difference else { continue }
            problems.append(difference)
            // From here on the tracked changes are not to be relied on: the next sync compares all rows.
            try SyncError.at(.verify) { try device.database.write { try $0.forgetCompleteness(of: schema) } }
        }
        return problems
    }
}
