import CloudStore
import DirectoryCloud
import SnapshotFormat
import SnapshotVersions

/// The files of a sealed zone without its keys: only sizes and hashes are known, not the contents.
struct UnopenedAssets {
    private let files: [(path: AssetPath, file: WholeFile)]

    init(_ records: [(CloudRecord, Int)]) {
        var files: [String: (path: AssetPath, file: WholeFile)] = [:]
        func add(_ path: AssetPath, _ file: WholeFile, of version: Int) { files[file.path, default: (path, file)].file.versions.append(version) }
        for (record, version) in records where record.isSealed {
            for asset in record.assets {
                guard let path = AssetPath(asset.path) else { continue }
                let kind = path.kind == .changes ? "changes" : "snapshot"
                add(path, WholeFile(path: asset.path, kind: kind, byteCount: asset.byteCount, sha256: asset.sha256), of: version)
                guard let index = asset.index else { continue }
                add(path, WholeFile(path: path.indexPath, kind: "index", byteCount: index.byteCount, sha256: index.sha256), of: version)
            }
        }
        self.files = files.values.sorted { $0.file.path < $1.file.path }
    }

    var isEmpty: Bool { files.isEmpty }

    /// Checks every file. It repairs a file if an intact copy exists.
    func repair(_ repair: ZoneRepair, _ account: inout RepairAccount) async throws {
        for (path, file) in files {
            account.checked += 1
            guard let fault = try await repair.mend(file, beside: path, &account) else { continue }
            account.lost.append(
                RepairReport.Lost(
                    file: file.path, kind: file.kind, isMissing: fault == .missing, versions: Array(Set(file.versions)).sorted(), blocks: [],
                    reason: "it is \(fault.rawValue), no copy of it is whole, and without keys its contents cannot be made again",
                    hint: "run snapsync repair FILE on a member of the zone"))
        }
    }
}
