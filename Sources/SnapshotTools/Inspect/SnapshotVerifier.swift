import CloudStore
import Foundation
import LocalStore
import LocalTables
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// The result of `verify`. It names every problem; the check does not stop at the first one.
public struct VerifyReport: Sendable, Encodable {
    public struct Asset: Sendable, Encodable {
        /// `notifications@42`.
        public let name: String
        public let file: String
        public let recordCount: Int
        public let size: Int
        public let blocks: Int
        /// Whether the file was opened and its entities read. In a sealed zone without a member's keys, only its hash is compared.
        public var isOpened = true
    }

    /// A file that is damaged or missing.
    public struct Damaged: Sendable, Encodable {
        /// The path relative to the zone's directory.
        public let file: String
        /// The first version found that needs the file.
        public let version: Int
        /// The damaged blocks of a snapshot asset, from 0; empty if the damage is not limited to blocks.
        public let blocks: [Int]
    }

    /// The zone's newest version.
    public let newestVersion: Int
    /// How many versions were checked.
    public let versions: Int
    /// The assets that are undamaged from the first byte to the last.
    public let sound: [Asset]
    /// The problems, each in one sentence that says what to do.
    public let problems: [String]
    /// The files that are incomplete because a sync tool is still writing them, each in one sentence. They do not count as problems.
    public let arriving: [String]
    /// The files that are damaged or missing, in the order of the check.
    public let damaged: [Damaged]
    /// Findings that deserve attention but are no damage, each in one sentence that says what to do.
    public let warnings: [String]
    /// Whether the local tables equal the applied version with the tracked changes; nil if that was not requested.
    public let localMatches: Bool?
    /// How many entities were changed in the local tables since the applied version; nil if that was not requested.
    public let localChanges: Int?
    /// Rows of the local tables that refer to rows that do not exist, the first few for each foreign key; nil if that was not requested.
    public let dangling: [Dangling]?
}

/// Checks versions from the commit to the last byte: parent links, sizes, hashes, JSON, order and counts.
struct SnapshotVerifier: Sendable {
    let inspector: SnapshotInspector
    let progress: ProgressHandler?

    func run(all: Bool, local: Bool) async throws -> VerifyReport {
        let newest = try await inspector.records(at: nil)
        let number = newest.token?.number ?? 0
        var (records, versions) = (newest.records.map { ($0, number) }, 1)
        var findings = VerifyFindings()
        if all {
            let kept = try await RetainedRecords.all(newest, in: inspector.cloud, inspector.zone) { try await inspector.records(at: $0) }
            (records, versions) = (kept.records, kept.versionCount)
            findings.record(kept.pins)
        }
        let isSealed = records.contains { $0.0.isSealed }
        records.removeAll { $0.0.isOfVersions && !$0.0.isSealed }
        for (record, version) in records { try await check(record, of: version, &findings) }
        var problems = findings.problems
        var localMatches: Bool?, localChanges: Int?
        var dangling: DanglingReport?
        if local {
            if let context = inspector.context, inspector.applied == nil, problems.isEmpty {
                // Nothing is damaged, and nothing can be said of the rows either.
                throw SyncError(
                    .nothingThere, step: .verify, at: context.database.path, "no version was imported or published here yet, so the rows cannot be compared",
                    hint: "run snapsync sync, then check again")
            }
            let differences = try await compareLocal()
            localMatches = differences.isEmpty
            localChanges = try inspector.context.map { context in
                try context.database.read { transaction in
                    try context.settings.datasets.reduce(0) { try $0 + transaction.changeLog.summary(of: $1).count }
                }
            }
            problems += differences
            dangling = try await findDangling()
        }
        return VerifyReport(
            newestVersion: number, versions: versions, sound: findings.sound, problems: problems, arriving: findings.arriving, damaged: findings.damaged,
            warnings: (dangling?.warnings ?? []) + (isSealed ? [Self.sealedWarning] : []), localMatches: localMatches,
            localChanges: localChanges, dangling: dangling?.rows)
    }

    /// Checks those assets of a record that were not checked yet: the snapshot asset and every change asset.
    private func check(_ record: CloudRecord, of version: Int, _ findings: inout VerifyFindings) async throws {
        if record.isSealed { return try await checkSealed(record, of: version, &findings) }
        guard let fields = DatasetRecord(record) else {
            // Opening the record throws the same error as a reader's import.
            return try await findings.attempt("no file", of: record, version: version) {
                _ = try await inspector.open(record)
                return nil
            }
        }
        if findings.begin(fields.dataFile.path) {
            try await findings.attempt(fields.dataFile.path, of: record, version: version) {
                let asset = try await inspector.open(record)
                try check(asset)
                return VerifyReport.Asset(
                    name: asset.place, file: fields.dataFile.path, recordCount: asset.index.recordCount, size: asset.index.size,
                    blocks: asset.index.blocks.count)
            }
        } else if findings.isSound(fields.dataFile.path) {
            // The file is undamaged, but this record may not fit it.
            try await findings.attempt(fields.dataFile.path, of: record, version: version) {
                _ = try await inspector.open(record)
                return nil
            }
        }
        let changes = (fields.chain + [fields.changeFile].compactMap { $0.map { ($0, nil) } }).filter { findings.begin($0.file.path) }
        guard !changes.isEmpty else { return }
        let schema = try await inspector.schema(of: record, fields)
        for (file, after) in changes {
            // A partial entity needs the files before.
            let isLaid = file == fields.changeFiles.last && ([fields.dataFile] + fields.changeFiles.dropLast()).allSatisfy { findings.isSound($0.path) }
            try await findings.attempt(file.path, of: record, version: version) {
                let change = try await ChangeAsset(file, after: after, dataset: schema?.name ?? record.name, in: inspector.cloud, zone: inspector.zone)
                guard let schema else {
                    throw SyncError(
                        .dataRefused, step: .verify, at: change.place, "it cannot be read, for no sound block index describes its dataset",
                        hint: SnapshotAsset.hint)
                }
                let count = try change.read(schema).entityKeys.count
                if isLaid {
                    let version = try await DatasetVersion(record, as: schema, in: inspector.cloud, zone: inspector.zone), keys = EntityKeys(schema)
                    try version.readChanged {
                        keys.clear()
                        try $0.send(to: keys)
                    }
                }
                return VerifyReport.Asset(name: change.place, file: file.path, recordCount: count, size: file.byteCount, blocks: 0)
            }
        }
    }

    private static let sealedWarning =
        "the zone is sealed, and no device's keys are at hand: each file was compared with its hash, and not opened; check --read-data with the database of a member opens them"

    /// Checks the hashes of a sealed record's files, which cannot be opened.
    private func checkSealed(_ record: CloudRecord, of version: Int, _ findings: inout VerifyFindings) async throws {
        for file in record.assets where findings.begin(file.path) {
            try await findings.attempt(file.path, of: record, version: version) {
                let reader = try await inspector.cloud.openAsset(file, in: inspector.zone)
                try checkHash(reader, file.sha256, at: "\(inspector.zone)/\(file.path)")
                if file.index != nil { _ = try reader.index() }
                return VerifyReport.Asset(
                    name: "\(record.name)@\(AssetPath(file.path)?.number ?? version)", file: file.path, recordCount: 0, size: file.byteCount, blocks: 0,
                    isOpened: false)
            }
        }
    }

    private func check(_ asset: SnapshotAsset) throws {
        let schema = try asset.schema()
        do {
            try checkHash(asset.reader, asset.fields.dataFile.sha256, at: asset.place)
            var count = 0
            var named = try asset.checkTail()
            let keys = EntityKeys(schema)
            try BlockPipeline(asset: asset, workerCount: WorkerThreads.count).run(.entitiesAndHash(schema)) { _, block in
                count += block.count
                if !named.isEmpty {
                    keys.clear()
                    try block.send(to: keys)
                    for key in keys.keys { try named.require(key) }
                }
                progress?(SyncProgress(step: .verify, dataset: asset.index.dataset, entityCount: count, expectedCount: asset.index.recordCount))
            }
            try named.finish()
        } catch let error as SyncError where error.code == .dataRefused {
            // The fast check stops at the first fault, so check every block to name all damaged ones.
            throw DamagedBlocks(try DamagedBlocks.find(in: asset, schema), error: error)
        }
    }

    private func checkHash(_ reader: any AssetReader, _ expected: String, at place: String) throws {
        var hash = CloudStore.ContentHash()
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
        defer { piece.deallocate() }
        var offset = 0
        while offset < reader.byteCount {
            let part = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(piece.count, reader.byteCount - offset)])
            try SyncError.at(.fetch) { try reader.read(into: part, at: offset) }
            hash.update(UnsafeRawBufferPointer(part))
            offset += part.count
        }
        guard hash.hex == expected else {
            throw SyncError(.dataRefused, step: .verify, at: place, "the file does not match the hash in its commit", hint: SnapshotAsset.hint)
        }
    }

    /// Searches the local tables for foreign keys that refer to missing rows.
    private func findDangling() async throws -> DanglingReport? {
        guard let context = inspector.context else { return nil }
        return try context.database.read {
            DanglingReport(try $0.references.danglingRows(of: context.settings.datasets, limit: DanglingReport.limit), in: context.database.path)
        }
    }

    /// Compares the local rows, block by block, with the applied version and the tracked changes.
    private func compareLocal() async throws -> [String] {
        guard let context = inspector.context else {
            throw SyncError(.refused, step: .verify, at: "check", "--local needs a database", hint: "give the database instead of the location").asSlip
        }
        guard let applied = inspector.applied else {
            return ["\(context.database.path): no version was imported or published here yet, so the rows cannot be compared"]
        }
        let state = try await inspector.records(at: applied.number)
        var problems: [String] = []
        for schema in context.settings.datasets {
            guard let record = state.record(schema.recordName) else { continue }
            let version = try await DatasetVersion(record, as: schema, in: inspector.cloud, zone: inspector.zone)
            let difference = try version.firstUntrackedDifference(in: context.database)
            guard let difference else { continue }
            problems.append(difference)
            // The tracked changes are not reliable any more, so the next sync compares all rows.
            try context.database.write { try $0.tracking.setIncomplete(of: schema) }
        }
        return problems
    }
}

/// The findings of a `verify` so far, file by file.
struct VerifyFindings {
    private(set) var sound: [VerifyReport.Asset] = []
    private(set) var problems: [String] = []
    /// The files that have not arrived completely, each in one sentence.
    private(set) var arriving: [String] = []
    private(set) var damaged: [VerifyReport.Damaged] = []
    private var begun: Set<String> = []

    /// Whether a file was not checked yet; marks it as checked.
    mutating func begin(_ file: String) -> Bool { begun.insert(file).inserted }

    /// Whether a file was checked and is undamaged.
    func isSound(_ file: String) -> Bool { sound.contains { $0.file == file } }

    /// Checks a file. Damage and absence are recorded; any other error ends the check.
    mutating func attempt(_ file: String, of record: CloudRecord, version: Int, _ body: () async throws -> VerifyReport.Asset?) async throws {
        do {
            if let asset = try await body() { sound.append(asset) }
        } catch let error as DamagedBlocks {
            self.record(file, of: record, version: version, error.described, blocks: error.blocks)
        } catch {
            let error = SyncError(error, step: .fetch)
            if error.cloud?.isArriving == true { return arriving.append("version \(version), \(record.name) (\(file)): \(error)") }
            guard error.code == .dataRefused || error.code == .tryAgainLater else { throw error }
            self.record(file, of: record, version: version, error, blocks: [])
        }
    }

    /// Records the pins whose checkpoints are missing or damaged.
    mutating func record(_ pins: PinnedVersions) {
        let faults = pins.unreadable.map { ($0.pin, $0.error) } + pins.withoutCheckpoint.map { ($0, $0.checkpointIsMissing) }
        for (pin, error) in faults.sorted(by: { $0.0.version < $1.0.version }) {
            problems.append("\(error)")
            damaged.append(VerifyReport.Damaged(file: pin.checkpointPath, version: pin.version, blocks: []))
        }
    }

    private mutating func record(_ file: String, of record: CloudRecord, version: Int, _ error: SyncError, blocks: [Int]) {
        problems.append("version \(version), \(record.name) (\(file)): \(error)")
        damaged.append(VerifyReport.Damaged(file: file, version: version, blocks: blocks))
    }
}

/// A snapshot asset with a complete list of its damaged blocks.
struct DamagedBlocks: Error {
    /// The numbers of the damaged blocks, from 0; empty if something else is wrong.
    let blocks: [Int]
    /// The first fault, and what to do.
    let described: SyncError

    /// - Parameter error: the error that the first check met.
    init(_ faults: [(block: Int, error: SyncError)], error: SyncError) {
        blocks = faults.map(\.block)
        guard let first = faults.first else {
            described = SyncError(error.code, step: error.step, at: error.place, error.reason, hint: SnapshotAsset.hint)
            return
        }
        let place = first.error.place.replacing("block \(first.block)", with: BlockWords.list(blocks), maxReplacements: 1)
        described = SyncError(
            .dataRefused, step: first.error.step, at: place, (blocks.count > 1 ? "the first: " : "") + first.error.reason, hint: SnapshotAsset.hint)
    }

    /// Checks every block of an asset by itself.
    static func find(in asset: SnapshotAsset, _ schema: DatasetSchema) throws -> [(block: Int, error: SyncError)] {
        var found: [(block: Int, error: SyncError)] = []
        for number in asset.index.blocks.indices {
            do {
                try BlockPipeline(asset: asset, blocks: [number], workerCount: 1).run(.entitiesAndHash(schema)) { _, _ in }
            } catch let error as SyncError where error.code == .dataRefused {
                found.append((number, error))
            }
        }
        return found
    }
}

/// Formats block numbers for a sentence.
enum BlockWords {
    /// `block 2`, `blocks 2, 5 and 7`.
    static func list(_ blocks: [Int]) -> String {
        let numbers = blocks.map(String.init)
        guard let last = numbers.last, numbers.count > 1 else { return "block " + numbers.joined() }
        return "blocks \(numbers.dropLast().joined(separator: ", ")) and \(last)"
    }
}
