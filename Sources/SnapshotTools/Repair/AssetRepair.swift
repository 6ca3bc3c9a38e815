import CloudStore
import DirectoryCloud
import Foundation
import LocalTables
import Sealing
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText
import SyncRuns

/// Checks and repairs the assets of a zone.
struct AssetRepair {
    let repair: ZoneRepair
    let assets: KeptAssets
    /// The keys of a sealed zone; nil in one that is not sealed.
    let keys: BoxKeys?

    private var directory: DirectoryCloud { repair.directory }
    private var zone: ZoneID { repair.zone }

    /// Checks everything, and repairs what it can.
    func run(_ account: inout RepairAccount) async throws {
        var snapshots: [(stored: StoredSnapshot, asset: KeptAssets.Asset)] = []
        for asset in assets.snapshots {
            account.checked += asset.asset.index == nil ? 1 : 2
            if asset.asset.index == nil { try await mendWhole(asset, kind: "snapshot", &account) }
            if let snapshot = try await open(asset, beside: snapshots.map(\.stored), &account) { snapshots.append((snapshot, asset)) }
        }
        let library = MemberLibrary(snapshots.map(\.stored))
        for (snapshot, asset) in snapshots { try await mend(snapshot, of: asset, from: library, &account) }
        for asset in assets.changes {
            account.checked += 1
            try await mendWhole(asset, kind: "changes", &account)
        }
    }

    // MARK: block indexes

    /// Opens a snapshot asset with its index and repairs the index if needed; nil if the index cannot be restored.
    private func open(_ asset: KeptAssets.Asset, beside others: [StoredSnapshot], _ account: inout RepairAccount) async throws -> StoredSnapshot? {
        guard let named = asset.asset.index else { return nil }
        let path = asset.path.indexPath, boxes = keys.map { DatasetBoxes($0, dataset: asset.path.record) }
        let (found, file) = (try await directory.findFile(path, in: zone), try await directory.findFile(asset.asset.path, in: zone))
        let copies = try await directory.copies(beside: asset.path, in: zone)
        if let found, let bytes = try found.bytes(limit: Padding.length(FormatLimits.indexBytes + 1) + BoxKeys.overhead), Self.hash(bytes) == named.sha256,
            let index = Self.decode(bytes, boxes)
        {
            return StoredSnapshot(asset: asset.asset, index: index, file: file, copies: copies, boxes: boxes)
        }
        guard let (bytes, source) = try index(of: asset, named, in: file, copies, others: others, boxes: boxes), let index = Self.decode(bytes, boxes) else {
            lose(
                path, kind: "index", isMissing: found == nil, of: asset, &account, blocks: [],
                reason: "the block index is \(found == nil ? "missing" : "damaged"), and it cannot be made again")
            return nil
        }
        if let done = try await replace(path, bytes, sha256: named.sha256) {
            account.mended.append(
                RepairReport.Mended(file: path, kind: "index", wasMissing: found == nil, blocks: [], sources: [source], setAside: done.setAside))
        }
        return StoredSnapshot(asset: asset.asset, index: index, file: file, copies: copies, boxes: boxes)
    }

    /// Decodes the stored bytes of a block index; nil if they are no index or cannot be opened.
    private static func decode(_ bytes: [UInt8], _ boxes: DatasetBoxes?) -> SnapshotIndex? {
        guard let boxes else { return try? SnapshotIndex.decode(Data(bytes)) }
        return bytes.withUnsafeBytes { try? SnapshotIndex.decode(boxes.open($0, kind: .index)) }
    }

    private func index(
        of asset: KeptAssets.Asset, _ named: CloudAssetIndex, in file: FoundFile?, _ copies: [FoundFile], others: [StoredSnapshot], boxes: DatasetBoxes?
    ) throws -> (bytes: [UInt8], source: String)? {
        for copy in copies where try copy.isWhole(byteCount: named.byteCount, sha256: named.sha256) {
            if let bytes = try copy.bytes(limit: named.byteCount) { return (bytes, copy.path) }
        }
        if let file, try file.isWhole(byteCount: asset.asset.byteCount, sha256: asset.asset.sha256), let hash = SnapshotFormat.ContentHash(hex: named.sha256) {
            let alike = others.filter { AssetPath($0.asset.path)?.record == asset.path.record }.map(\.index)
            let described = repair.context?.settings.datasets.filter { $0.recordName == asset.path.record } ?? []
            let schemas =
                described + alike.compactMap { try? $0.schema(table: $0.dataset) } + DatasetSchema.builtIn.filter { $0.recordName == asset.path.record }
            var tried: Set<DatasetSchema> = []
            for schema in schemas where tried.insert(schema).inserted {
                let rebuilder = try? IndexRebuilder(byteCount: file.byteCount, schema: schema, boxes: boxes) { offset, buffer in
                    guard let bytes = try file.bytes(at: offset, count: buffer.count) else {
                        throw SyncError(format: .truncated, at: file.path, "the file shrank while it was read")
                    }
                    buffer.copyBytes(from: bytes)
                }
                if let data = try rebuilder?.index(sha256: hash, guesses: alike.map(\.blockEntities) + [BlockSizing.emptyChoice]) {
                    return (Array(data), "the asset itself")
                }
            }
        }
        return nil
    }

    // MARK: snapshot assets

    private func mend(_ snapshot: StoredSnapshot, of asset: KeptAssets.Asset, from library: MemberLibrary, _ account: inout RepairAccount) async throws {
        let path = asset.asset.path
        // Checking member by member covers the whole file, because every byte belongs to a member.
        if try snapshot.file?.byteCount == asset.asset.byteCount && snapshot.damagedMembers().isEmpty {
            return
        }
        let own = assets.ownRecord(of: asset)
        let mender = SnapshotMender(
            snapshot, library: library, rows: rows(for: asset), syncTimestamp: own?.fields.syncTimestamp ?? asset.fields.syncTimestamp)
        let done = try await directory.replaceFile(
            path, byteCount: asset.asset.byteCount, sha256: asset.asset.sha256, in: zone, dryRun: repair.dryRun, write: { try mender.run($0) })
        let blocks = { (members: [Int]) in
            members.filter { (1...max(1, snapshot.index.blocks.count)).contains($0) && $0 <= snapshot.index.blocks.count }.map { $0 - 1 }
        }
        if let done {
            account.mended.append(
                RepairReport.Mended(
                    file: path, kind: "snapshot", wasMissing: snapshot.file == nil, blocks: blocks(mender.damaged),
                    sources: mender.used.isEmpty ? ["itself: bytes behind its end were left out"] : mender.used, setAside: done.setAside))
        } else {
            let numbers = blocks(mender.lost)
            lose(
                path, kind: "snapshot", isMissing: snapshot.file == nil, of: asset, &account, blocks: numbers,
                reason: reason(numbers, mender.lost, of: snapshot))
        }
    }

    private func reason(_ blocks: [Int], _ members: [Int], of snapshot: StoredSnapshot) -> String {
        let others = members.filter { $0 == 0 || $0 > snapshot.index.blocks.count }.map(snapshot.name)
        guard snapshot.file != nil else {
            return
                (["the file is missing"] + others.map { "\($0) is nowhere else" }
                + (blocks.isEmpty ? [] : ["\(blocks.count) of its \(snapshot.index.blocks.count) blocks are nowhere else"])).joined(separator: ", ")
        }
        let parts = (blocks.isEmpty ? [] : [BlockWords.list(blocks)]) + others
        return "\(parts.joined(separator: " and ")) \(blocks.count + others.count > 1 ? "are" : "is") damaged here and nowhere else"
    }

    /// The device's rows of an asset's dataset; nil if there are none. A missing or unsuitable table is no source.
    private func rows(for asset: KeptAssets.Asset) -> LocalRows? {
        repair.context.flatMap { context in
            context.settings.datasets.first { $0.recordName == asset.path.record }.flatMap { try? LocalRows(context, $0) }
        }
    }

    // MARK: assets without a block index

    /// Checks an asset by the hash of the whole file: a change asset, or a snapshot asset whose record names no block index.
    private func mendWhole(_ asset: KeptAssets.Asset, kind: String, _ account: inout RepairAccount) async throws {
        let file = WholeFile(path: asset.asset.path, kind: kind, byteCount: asset.asset.byteCount, sha256: asset.asset.sha256)
        guard let fault = try await repair.mend(file, beside: asset.path, &account) else {
            return
        }
        lose(
            file.path, kind: kind, isMissing: fault == .missing, of: asset, &account, blocks: [],
            reason: "\(kind == "changes" ? "what the version changed" : "the file") is \(fault.rawValue), and nowhere else")
    }

    // MARK: both

    private func replace(_ path: String, _ bytes: [UInt8], sha256: String) async throws -> RepairedFile? {
        try await directory.replaceFile(
            path, byteCount: bytes.count, sha256: sha256, in: zone, dryRun: repair.dryRun,
            write: { append in
                try bytes.withUnsafeBytes { try append($0) }
                return true
            })
    }

    private func lose(
        _ path: String, kind: String, isMissing: Bool, of asset: KeptAssets.Asset, _ account: inout RepairAccount, blocks: [Int], reason: String
    ) {
        let isNeeded = assets.isInNewest(asset.asset.path)
        let elsewhere =
            repair.context == nil ? "try snapsync repair FILE on a device, whose rows may have it; else " : "try snapsync repair on other devices; else "
        let hint =
            elsewhere
            + (isNeeded
                ? "on the writer: snapsync export --full, which writes a whole new version" : "leave it: only older versions need it, and the newest is whole")
        account.lost.append(
            RepairReport.Lost(
                file: path, kind: kind, isMissing: isMissing, versions: Array(Set(asset.versions)).sorted(), blocks: blocks, reason: reason, hint: hint))
    }

    private static func hash(_ bytes: [UInt8]) -> String { CloudStore.ContentHash.of(bytes) }
}
