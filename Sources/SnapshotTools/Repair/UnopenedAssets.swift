import CloudStore
import DirectoryCloud
import SnapshotFormat
import SnapshotVersions

/// The files of a sealed zone without its keys: only sizes and hashes are known, not the contents.
struct UnopenedAssets {
    private struct File {
        let path: String
        let kind: String
        let byteCount: Int
        let sha256: String
        var versions: [Int]
    }

    private let files: [(path: AssetPath, file: File)]

    init(_ records: [(CloudRecord, Int)]) {
        var files: [String: (path: AssetPath, file: File)] = [:]
        func add(_ path: AssetPath, _ file: File, _ version: Int) { files[file.path, default: (path, file)].file.versions.append(version) }
        for (record, version) in records where record.isSealed {
            for asset in record.assets {
                guard let path = AssetPath(asset.path) else { continue }
                let kind = path.kind == .changes ? "changes" : "snapshot"
                add(path, File(path: asset.path, kind: kind, byteCount: asset.byteCount, sha256: asset.sha256, versions: []), version)
                guard let index = asset.index else { continue }
                add(path, File(path: path.indexPath, kind: "index", byteCount: index.byteCount, sha256: index.sha256, versions: []), version)
            }
        }
        self.files = files.values.sorted { $0.file.path < $1.file.path }
    }

    var isEmpty: Bool { files.isEmpty }

    /// Checks every file. It repairs a file if an intact copy exists, or if flipping one bit gives the right hash.
    func repair(_ repair: ZoneRepair, _ account: inout RepairAccount) async throws {
        for (path, file) in files {
            account.checked += 1
            let (found, copies) = try await SyncError.at(.fetch) {
                (try await repair.directory.findFile(file.path, in: repair.zone), try await repair.directory.copies(beside: path, in: repair.zone))
            }
            if let found, try found.isWhole(byteCount: file.byteCount, sha256: file.sha256) { continue }
            if let (write, source) = try source(of: file, found, copies), let done = try await replace(file, repair, write) {
                account.mended.append(
                    RepairReport.Mended(
                        file: file.path, kind: file.kind, wasMissing: found == nil, blocks: [], sources: [source], setAside: done.setAside))
            } else {
                account.lost.append(
                    RepairReport.Lost(
                        file: file.path, kind: file.kind, isMissing: found == nil, versions: Array(Set(file.versions)).sorted(), blocks: [],
                        reason: "it is \(found == nil ? "missing" : "damaged"), no copy of it is whole, and without keys its contents cannot be made again",
                        hint: "run snapsync repair --db FILE on a member of the zone"))
            }
        }
    }

    private typealias Write = @Sendable ((UnsafeRawBufferPointer) throws -> Void) throws -> Bool

    private func source(of file: File, _ found: FoundFile?, _ copies: [FoundFile]) throws -> (Write, String)? {
        for copy in copies where try copy.isWhole(byteCount: file.byteCount, sha256: file.sha256) {
            return (
                { append in
                    var offset = 0
                    while offset < copy.byteCount {
                        guard let piece = try copy.bytes(at: offset, count: min(1 << 20, copy.byteCount - offset)) else { return false }
                        try piece.withUnsafeBytes { try append($0) }
                        offset += piece.count
                    }
                    return true
                }, copy.path
            )
        }
        for one in [found].compactMap(\.self) + copies {
            if let bytes = try one.bytes(limit: OneBitFlip.byteLimit), let mended = OneBitFlip.mend(bytes, sha256: file.sha256) {
                return (
                    { append in
                        try mended.withUnsafeBytes { try append($0) }
                        return true
                    }, "\(one.path): one bit was flipped"
                )
            }
        }
        return nil
    }

    private func replace(_ file: File, _ repair: ZoneRepair, _ write: @escaping Write) async throws -> RepairedFile? {
        try await SyncError.at(.store) {
            try await repair.directory.replaceFile(
                file.path, byteCount: file.byteCount, sha256: file.sha256, in: repair.zone, dryRun: repair.dryRun, write: write)
        }
    }
}
