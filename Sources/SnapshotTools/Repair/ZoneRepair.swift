import CloudStore
import DirectoryCloud
import LocalTables
import Sealing
public import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Restores what is damaged or missing in a zone if the bytes are available elsewhere: first commits and checkpoints, then block indexes,
/// snapshot assets and change assets.
struct ZoneRepair: Sendable {
    let directory: DirectoryCloud
    let zone: ZoneID
    /// The device whose rows may be a source of blocks; nil if there is only the cloud.
    let context: SyncContext?
    /// The version that the device has applied. Its commit's hash is known and trusted.
    let applied: AppliedVersion?
    let dryRun: Bool

    /// Checks everything and repairs what can be repaired.
    ///
    /// - Throws: ``SyncError`` if the zone cannot be read or written. Losses are part of the report.
    func run() async throws -> RepairReport { do { return try await mend() } catch { throw SyncError(error, step: .store) } }

    private func mend() async throws -> RepairReport {
        var account = RepairAccount()
        var documents = try await directory.damagedDocuments(in: zone, knowing: applied?.token)
        try await replace(documents, &account)
        do {
            let newest = try await opened(directory.mending(documents.mended)).records(in: zone)
            let pinned = newest.pins.map(\.checkpoint)
            let more = try await directory.damagedDocuments(in: zone, knowing: applied?.token, pinned: pinned)
                .filter { one in one.kind == .checkpoint && !documents.contains { $0.kind == .checkpoint && $0.number == one.number } }
            try await replace(more, &account, pinned: newest.pins)
            documents += more
            let mended = directory.mending(documents.mended)
            let keys = try await context?.signedZone?.boxKeys(in: mended)
            try await mendAssets(newest, in: opened(mended), keys: keys, &account)
        } catch  where !account.lost.isEmpty && SyncError(error).code == .dataRefused {
            // The assets that are needed are unknown until the history can be read. The report already names the lost commits.
        }
        return RepairReport(
            dryRun: dryRun, zone: zone.name, checkedFiles: account.checked, mended: account.mended, lost: account.lost,
            warnings: account.hasUnopened ? [Self.unopenedWarning] : [])
    }

    private static let unopenedWarning =
        "the zone is sealed, and no device's keys are at hand: files were compared with their hashes, not opened; on a member, repair with its database finds more"

    /// A cloud that decrypts the records of a sealed zone, on a device that has its keys.
    private func opened(_ cloud: CloudDatabase) -> CloudDatabase { context?.signedZone?.opening(cloud) ?? cloud }

    private func replace(_ documents: [DamagedDocument], _ account: inout RepairAccount, pinned: [VersionPin] = []) async throws {
        for document in documents {
            account.checked += 1
            let kind = document.kind.rawValue
            if let done = try await directory.replace(document, in: zone, dryRun: dryRun) {
                account.mended.append(
                    RepairReport.Mended(
                        file: document.path, kind: kind, wasMissing: document.isMissing, blocks: [], sources: [document.source].compactMap(\.self),
                        setAside: done.setAside))
            } else {
                account.lost.append(
                    RepairReport.Lost(
                        file: document.path, kind: kind, isMissing: document.isMissing, versions: [document.number], blocks: [],
                        reason: "\(document.reason), and its bytes are nowhere else",
                        hint: document.kind == .commit
                            ? "bring the file back from a copy of the directory, for the history cannot be read beyond it; if there is no copy, rename the file, and snapsync check names the way on"
                            : "bring the file back from a copy of the directory, or the commits that it follows from"
                                + (pinned.contains { $0.version == document.number }
                                    ? "; else let the pinned version go: snapsync pin DB \(document.number) --remove on a device that publishes" : "")))
            }
        }
    }

    private func mendAssets(_ newest: ZoneState, in cloud: CloudDatabase, keys: BoxKeys?, _ account: inout RepairAccount) async throws {
        let finder = VersionFinder(cloud: cloud, zone: zone, token: nil)
        let kept = try await RetainedRecords.all(newest, in: cloud, zone) { try await finder.state(of: $0) }
        for one in kept.pins.unreadable where !account.lost.contains(where: { $0.file == one.pin.checkpointPath }) {
            account.lost.append(
                RepairReport.Lost(
                    file: one.pin.checkpointPath, kind: DamagedDocument.Kind.checkpoint.rawValue, isMissing: false, versions: [one.pin.version], blocks: [],
                    reason: one.error.reason,
                    hint: "let the pinned version go: snapsync pin DB \(one.pin.version) --remove on a device that publishes"))
        }
        let unopened = UnopenedAssets(kept.records)
        account.hasUnopened = !unopened.isEmpty
        try await unopened.repair(self, &account)
        let assets = KeptAssets(kept.records.filter { !$0.0.isOfVersions })
        let mender = AssetRepair(repair: self, assets: assets, keys: keys)
        try await mender.run(&account)
    }
}

/// A file that is checked by the hash of the whole: its contents need not be understood.
struct WholeFile: Sendable {
    let path: String
    let kind: String
    let byteCount: Int
    let sha256: String
    /// The versions that need it.
    var versions: [Int] = []

    enum Fault: String {
        case missing, damaged
    }
}

extension ZoneRepair {
    /// Checks a file, and replaces it by a copy.
    ///
    /// - Parameter asset: the asset beside which copies lie.
    /// - Returns: what is wrong with the file if there is no copy; nil if all is well.
    func mend(_ file: WholeFile, beside asset: AssetPath, _ account: inout RepairAccount) async throws -> WholeFile.Fault? {
        let (found, copies) = (try await directory.findFile(file.path, in: zone), try await directory.copies(beside: asset, in: zone))
        if let found, try found.isWhole(byteCount: file.byteCount, sha256: file.sha256) { return nil }
        guard let copy = try copies.first(where: { try $0.isWhole(byteCount: file.byteCount, sha256: file.sha256) }),
            let done = try await directory.replaceFile(
                file.path, byteCount: file.byteCount, sha256: file.sha256, in: zone, dryRun: dryRun,
                write: { append in
                    for offset in stride(from: 0, to: copy.byteCount, by: 1 << 20) {
                        guard let piece = try copy.bytes(at: offset, count: min(1 << 20, copy.byteCount - offset)) else { return false }
                        try piece.withUnsafeBytes { try append($0) }
                    }
                    return true
                })
        else { return found == nil ? .missing : .damaged }
        account.mended.append(
            RepairReport.Mended(
                file: file.path, kind: file.kind, wasMissing: found == nil, blocks: [], sources: [copy.path], setAside: done.setAside))
        return nil
    }
}

/// The results of a repair so far.
struct RepairAccount {
    var checked = 0
    var mended: [RepairReport.Mended] = []
    var lost: [RepairReport.Lost] = []
    /// Whether there are sealed files, which only a member of the zone could open.
    var hasUnopened = false
}

/// The assets that the versions of a zone need.
struct KeptAssets {
    struct Asset {
        let asset: CloudAsset
        let path: AssetPath
        /// The first record that names the asset. `versions` lists all versions that do.
        let record: CloudRecord
        let fields: DatasetRecord
        var versions: [Int]
    }

    private(set) var snapshots: [Asset] = []
    private(set) var changes: [Asset] = []
    /// Every record of a dataset, oldest first.
    private let records: [(record: CloudRecord, fields: DatasetRecord, version: Int)]

    init(_ all: [(CloudRecord, Int)]) {
        records = all.compactMap { record, version in DatasetRecord(record).map { (record, $0, version) } }.sorted { $0.version < $1.version }
        var snapshots: [String: Asset] = [:], changes: [String: Asset] = [:]
        for (record, fields, version) in records {
            Self.add(fields.dataFile, record, fields: fields, of: version, to: &snapshots)
            for change in fields.changeFiles + [fields.changeFile].compactMap(\.self) { Self.add(change, record, fields: fields, of: version, to: &changes) }
        }
        self.snapshots = snapshots.values.sorted { $0.asset.path < $1.asset.path }
        self.changes = changes.values.sorted { $0.asset.path < $1.asset.path }
    }

    /// The record of the asset's own version, saved when the asset was written; nil if it is not kept.
    func ownRecord(of asset: Asset) -> (record: CloudRecord, fields: DatasetRecord)? {
        records.first { $0.record.name == asset.record.name && $0.record.changeTag == String(asset.path.number) }.map { ($0.record, $0.fields) }
    }

    /// Whether the newest version needs a file.
    func isInNewest(_ path: String) -> Bool {
        Dictionary(records.map { ($0.record.name, $0.fields) }, uniquingKeysWith: { $1 }).values.contains {
            ([$0.dataFile] + $0.changeFiles).contains { $0.path == path }
        }
    }

    private static func add(_ asset: CloudAsset, _ record: CloudRecord, fields: DatasetRecord, of version: Int, to list: inout [String: Asset]) {
        guard let path = AssetPath(asset.path) else { return }
        list[asset.path, default: Asset(asset: asset, path: path, record: record, fields: fields, versions: [])].versions.append(version)
    }
}

extension SyncEngine {
    /// Restores what is damaged or missing in the zone: from other assets, from this database's rows, and from the commits.
    ///
    /// No file is overwritten or removed: a damaged file is renamed so that readers ignore it, and the repaired file gets its name. The database
    /// is not changed.
    ///
    /// - Parameter dryRun: whether to only report what would be done.
    /// - Throws: ``SyncError`` with `.refused` for a cloud that is no directory, and errors if the zone cannot be read or written at all.
    public func repair(dryRun: Bool = false) async throws -> RepairReport {
        try await gate.enter()
        return try await locked {
            let context = try context()
            let (cloud, signedZone) = try openToLook(context.settings)
            guard let directory = (signedZone?.cloud ?? cloud) as? DirectoryCloud else {
                throw SyncError(
                    .refused, step: .open, at: "repair", "repair works on folders only",
                    hint: "for a bucket, restore the object from the versions that the store keeps")
            }
            let applied = try database.read { try $0.state.applied() }
            return try await ZoneRepair(directory: directory, zone: context.zone, context: context, applied: applied, dryRun: dryRun).run()
        }
    }
}

extension SnapshotInspector {
    /// Restores what is damaged or missing in a zone, without a database: from other assets and from the commits.
    ///
    /// See ``SyncEngine/repair(dryRun:)``.
    public static func repair(cloud path: String, zone: String = "ZentikSyncZone", dryRun: Bool = false) async throws -> RepairReport {
        try await WorkerThreads.host {
            let directory = try DirectoryCloud(path: path)
            return try await ZoneRepair(directory: directory, zone: ZoneID(zone), context: nil, applied: nil, dryRun: dryRun).run()
        }
    }
}

/// What `repair` did, or would do with `dryRun`, and what it could not repair.
public struct RepairReport: Sendable, Encodable {
    /// A repaired file.
    public struct Mended: Sendable, Encodable {
        /// The path relative to the zone's directory.
        public let file: String
        /// `commit`, `checkpoint`, `index`, `snapshot` or `changes`.
        public let kind: String
        /// Whether the file was missing rather than damaged.
        public let wasMissing: Bool
        /// The blocks of a snapshot asset that were damaged, from 0.
        public let blocks: [Int]
        /// The sources of the bytes, as sentences.
        public let sources: [String]
        /// The path to which the damaged file was moved; nil if there was none.
        public let setAside: String?
    }

    /// A file that could not be repaired.
    public struct Lost: Sendable, Encodable {
        public let file: String
        public let kind: String
        public let isMissing: Bool
        /// The versions that need it.
        public let versions: [Int]
        /// The blocks for which there is no source, from 0.
        public let blocks: [Int]
        public let reason: String
        /// What to do next.
        public let hint: String
    }

    public let dryRun: Bool
    public let zone: String
    /// How many files were checked.
    public let checkedFiles: Int
    public let mended: [Mended]
    public let lost: [Lost]
    /// Findings that deserve attention, as sentences.
    public let warnings: [String]
}
