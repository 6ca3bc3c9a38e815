import CloudStore
import StrictText

extension MemoryStore {
    func clock() -> Instant { now() }

    func storedFiles() -> [StoredFile] {
        let files = zone.files
        func file(_ kind: StoredFile.Kind, _ path: String, _ bytes: [UInt8]) -> StoredFile {
            StoredFile(kind: kind, path: path, byteCount: bytes.count, modified: files.written[path] ?? now())
        }
        let assets = files.assets.compactMap { path, bytes -> StoredFile? in
            let parts = path.exact.split(separator: "/")
            guard parts.count == 3, let kind = StoredFile.Kind(nameInAssets: parts[2], of: parts[1]) else { return nil }
            return file(kind, path, bytes)
        }
        return files.commits.map { file(.commit($0), "\(CloudNames.commits)/\(CloudNames.digits($0)).json", $1) }
            + files.checkpoints.map { file(.checkpoint($0), "\(CloudNames.checkpoints)/\(CloudNames.digits($0)).json", $1) } + assets
    }

    func removeFile(_ path: String) {
        let parts = path.exact.split(separator: "/")
        zone.change { files in
            files.written[path] = nil
            switch (parts.first, parts.last.flatMap(CloudNames.number(ofFile:))) {
            case (CloudNames.commits, let number?): files.commits[number] = nil
            case (CloudNames.checkpoints, let number?): files.checkpoints[number] = nil
            default: files.assets[path] = nil
            }
        }
    }

    /// Memory has nothing to make durable.
    func synchronizeRemovals(in directory: String) {}
}
