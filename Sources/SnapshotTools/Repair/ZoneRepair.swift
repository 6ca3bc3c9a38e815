import CloudStore
import DirectoryCloud
import LocalStore
import Sealing
import SnapshotEngine
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Brings back what is damaged or missing in a zone, as far as its bytes are anywhere else: commits and checkpoints, then block
/// indexes, then snapshot assets, then change assets.
struct ZoneRepair: Sendable {
    let directory: DirectoryCloud
    let zone: ZoneID
    /// Whose rows may hold blocks; nil where there is only the cloud.
    let device: SyncContext?
    /// What the device has read, whose commit's hash it knows.
    let applied: AppliedVersion?
    let dryRun: Bool

    /// Looks at everything and mends what can be mended.
    ///
    /// - Throws: ``SyncError`` where the zone cannot be looked at or written; what is lost is in the report.
    func run() async throws -> RepairReport {
        var account = RepairAccount()
        // The commits' order first: what they say of checkpoints and assets depends on which of them stand.
        var fork = try await unmix(&account)
        var documents = try await SyncError.at(.fetch) { try await directory.damagedDocuments(in: zone, knowing: applied?.token) }
        try await replace(documents, &account)
        if fork?.refusal != nil || fork == nil && !documents.isEmpty {
            // A commit that was missing or damaged may be back.
            fork = try await unmix(&account)
            if let fork, let refusal = fork.refusal { account.lost.append(Self.undecided(fork, refusal)) }
        }
        documents += fork?.documents ?? []
        do {
            let newest = try await SyncError.at(.fetch) { try await opened(MendedCloud(directory, documents)).records(in: zone) }
            let pinned = newest.pins.map(\.checkpoint)
            let more = try await SyncError.at(.fetch) { try await directory.damagedDocuments(in: zone, knowing: applied?.token, pinned: pinned) }
                .filter { one in one.kind == .checkpoint && !documents.contains { $0.kind == .checkpoint && $0.number == one.number } }
            try await replace(more, &account, pinned: newest.pins)
            documents += more
            let mended = MendedCloud(directory, documents)
            let keys = try await SyncError.at(.open) { try await device?.signedZone?.boxKeys(in: mended) }
            try await mendAssets(newest, opened(mended), keys, &account)
        } catch let error as SyncError where error.code == .dataRefused && !account.lost.isEmpty {
            // What the history says of assets cannot be known until it can be read; what is lost has been said.
        }
        return RepairReport(
            dryRun: dryRun, zone: zone.name, checkedFiles: account.checked, mended: account.mended, lost: account.lost,
            warnings: account.hasUnopened ? [Self.unopenedWarning] : [])
    }

    private static let unopenedWarning =
        "the zone is sealed, and no device's keys are at hand: files were compared with their hashes, not opened; on a member, repair --db finds more"

    /// The cloud through which the records of a sealed zone can be read, on a device that has its keys.
    private func opened(_ cloud: MendedCloud) -> any CloudDatabase { device?.signedZone?.opening(cloud) ?? cloud }

    /// Puts one chain back under the plain names, where two devices' commits stand mixed and it is certain which.
    private func unmix(_ account: inout RepairAccount) async throws -> MixedFork? {
        guard let fork = try await SyncError.at(.fetch, { try await directory.mixedFork(in: zone) }) else { return nil }
        if !dryRun, !fork.moves.isEmpty { try await SyncError.at(.store) { try await directory.unmix(fork, in: zone) } }
        account.checked += fork.moves.count
        account.mended += fork.moves.map { move in
            RepairReport.Mended(
                file: Self.file(move.number), kind: RepairReport.forkKind, wasMissing: move.aside == nil, blocks: [],
                sources: ["commits/\(move.copy.fileName), by \(move.copy.device)"], setAside: move.aside.map { "\(CloudNames.commits)/\($0)" })
        }
        return fork
    }

    private static func undecided(_ fork: MixedFork, _ refusal: String) -> RepairReport.Lost {
        RepairReport.Lost(
            file: file(fork.number), kind: RepairReport.forkKind, isMissing: false, versions: [fork.number], blocks: [],
            reason: "it does not follow the commit before it, for two devices' commits are mixed, and it is not certain which of them stand: \(refusal)",
            hint:
                "if a sync tool is bringing files, wait for it; else bring that commit back from the other device's copy of the directory, or put the commits that follow it aside by hand: docs/sync.md, \"A long fork\""
        )
    }

    private static func file(_ number: Int) -> String { "\(CloudNames.commits)/\(CloudNames.digits(number)).json" }

    private func replace(_ documents: [DamagedDocument], _ account: inout RepairAccount, pinned: [VersionPin] = []) async throws {
        for document in documents {
            account.checked += 1
            let kind = document.kind.rawValue
            if let done = try await SyncError.at(.store, { try await directory.replace(document, in: zone, dryRun: dryRun) }) {
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
                            ? "bring the file back from a copy of the directory; without it the history cannot be read beyond it"
                            : "bring the file back from a copy of the directory, or the commits that it follows from"
                                + (pinned.contains { $0.version == document.number }
                                    ? "; else let the pinned version go: snapsync unpin \(document.number) on a device that publishes" : "")))
            }
        }
    }

    private func mendAssets(_ newest: ZoneState, _ cloud: any CloudDatabase, _ keys: BoxKeys?, _ account: inout RepairAccount) async throws {
        let finder = VersionFinder(cloud: cloud, zone: zone, token: nil)
        let kept = try await RetainedRecords.all(newest, in: cloud, zone) { try await finder.state(of: $0) }
        for one in kept.pins.unreadable where !account.lost.contains(where: { $0.file == one.pin.checkpointPath }) {
            account.lost.append(
                RepairReport.Lost(
                    file: one.pin.checkpointPath, kind: DamagedDocument.Kind.checkpoint.rawValue, isMissing: false, versions: [one.pin.version], blocks: [],
                    reason: one.error.reason,
                    hint: "let the pinned version go: snapsync unpin \(one.pin.version) on a device that publishes"))
        }
        let unopened = UnopenedAssets(kept.records)
        account.hasUnopened = !unopened.isEmpty
        try await unopened.repair(self, &account)
        let assets = KeptAssets(kept.records.filter { !$0.0.isOfVersions })
        var mender = AssetRepair(repair: self, cloud: cloud, assets: assets, keys: keys)
        // What was mended may be what something else is mended from.
        repeat {
            try await mender.pass(&account)
        } while mender.hasProgress && !dryRun
        account.lost += mender.lost
    }
}

/// What a repair has found and done so far.
struct RepairAccount {
    var checked = 0
    var mended: [RepairReport.Mended] = []
    var lost: [RepairReport.Lost] = []
    /// Whether there are files that only a member of the zone could open.
    var hasUnopened = false
}

/// The assets that the versions of a zone need.
struct KeptAssets {
    struct Asset {
        let asset: CloudAsset
        let path: AssetPath
        /// The record that names it first, and all versions that do.
        let record: CloudRecord
        let fields: DatasetRecord
        var versions: [Int]
    }

    private(set) var snapshots: [Asset] = []
    private(set) var changes: [Asset] = []
    /// Every record that carries a dataset, oldest first.
    private let records: [(record: CloudRecord, fields: DatasetRecord, version: Int)]

    init(_ all: [(CloudRecord, Int)]) {
        records = all.compactMap { record, version in DatasetRecord(record).map { (record, $0, version) } }.sorted { $0.version < $1.version }
        var snapshots: [String: Asset] = [:], changes: [String: Asset] = [:]
        for (record, fields, version) in records {
            Self.add(fields.dataFile, record, fields, version, to: &snapshots)
            for change in fields.changeFiles + [fields.changeFile].compactMap(\.self) { Self.add(change, record, fields, version, to: &changes) }
        }
        self.snapshots = snapshots.values.sorted { $0.asset.path < $1.asset.path }
        self.changes = changes.values.sorted { $0.asset.path < $1.asset.path }
    }

    /// The record as it was saved last before that of an asset's own version.
    func fields(before asset: Asset) -> DatasetRecord? {
        records.last { $0.record.name == asset.record.name && $0.version < asset.path.number }?.fields
    }

    /// The record of an asset's own version, if it is kept: the one that was saved when the asset was made.
    func ownRecord(of asset: Asset) -> (record: CloudRecord, fields: DatasetRecord)? {
        records.first { $0.record.name == asset.record.name && $0.record.changeTag == String(asset.path.number) }.map { ($0.record, $0.fields) }
    }

    /// Whether the newest version needs a file.
    func isInNewest(_ path: String) -> Bool {
        Dictionary(records.map { ($0.record.name, $0.fields) }, uniquingKeysWith: { $1 }).values.contains {
            ([$0.dataFile] + $0.changeFiles).contains { $0.path == path }
        }
    }

    private static func add(_ asset: CloudAsset, _ record: CloudRecord, _ fields: DatasetRecord, _ version: Int, to list: inout [String: Asset]) {
        guard let path = AssetPath(asset.path) else { return }
        list[asset.path, default: Asset(asset: asset, path: path, record: record, fields: fields, versions: [])].versions.append(version)
    }
}
