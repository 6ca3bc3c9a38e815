import CloudStore
import StrictText

/// A bucket as a store of objects: each put-if-absent is a conditional PUT. Assets are read by ranges and written in parts.
struct BucketStore: ObjectStore {
    let client: ObjectClient

    var place: String { client.location.description }
    var width: Int { ObjectClient.width }

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? { try client.get(path, limit: limit) }
    func size(of path: String) throws(CloudError) -> Int? { try client.size(of: path) }
    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject] { try client.list(prefix, first: first) }
    func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])? { try client.listFolder(folder) }
    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement { try client.put(bytes, as: path) }
    func clock(in zone: ZoneID) -> Instant { client.clock }

    func remove(_ paths: [String]) throws(CloudError) {
        let uploads = paths.filter { $0.exact.contains(Self.uploadMark) }
        for path in uploads {
            guard let mark = path.utf8.firstRange(of: Self.uploadMark.utf8) else { continue }
            try client.abandon(String(path[mark.upperBound...]), of: String(path[..<mark.lowerBound]))
        }
        let objects = uploads.isEmpty ? paths : paths.filter { !$0.exact.contains(Self.uploadMark) }
        if !objects.isEmpty { try client.remove(objects) }
    }

    /// Lists the multipart uploads of assets that were started but neither finished nor abandoned.
    func leftovers(_ prefix: String) throws(CloudError) -> [StoredObject] {
        try client.uploads("\(prefix)\(CloudNames.assets)/").compactMap { upload in
            let parts = upload.path.exact.split(separator: "/")
            guard parts.count == 5, StoredFile.Kind(nameInAssets: parts[4], of: parts[3]) != nil else { return nil }
            return StoredObject(path: upload.path + Self.uploadMark + upload.id, byteCount: 0, modified: upload.begun)
        }
    }

    /// Separates the path from the id of an unfinished upload. No valid path contains it.
    private static let uploadMark = "?uploadId="

    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader { try ObjectAssetReader.open(asset, in: zone, of: self) }
    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter { ObjectAssetWriter(path, in: zone, of: self) }
}
