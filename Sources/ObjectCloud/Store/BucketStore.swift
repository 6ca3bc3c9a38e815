import CloudStore
import CommitLog
import StrictText

/// A bucket as a store of objects: each put-if-absent is a conditional PUT. Assets are read by ranges and written in parts.
struct BucketStore: ObjectStore {
    let client: ObjectClient

    var place: String { client.location.description }
    var clock: Instant { client.clock }
    var width: Int { ObjectClient.width }

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? { try client.get(path, limit: limit) }
    func size(of path: String) throws(CloudError) -> Int? { try client.size(of: path) }
    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject] { try client.list(prefix, first: first) }
    func listPage(_ prefix: String, after path: String) throws(CloudError) -> (objects: [StoredObject], isLast: Bool)? {
        try client.listPage(prefix, after: path)
    }
    func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])? { try client.listFolder(folder) }
    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement { try client.put(bytes, as: path) }
    func remove(_ paths: [String]) throws(CloudError) { try client.remove(paths) }
    func unfinishedUploads(_ prefix: String) throws(CloudError) -> [UnfinishedUpload] { try client.uploads(prefix) }
    func abandonUpload(_ id: String, of path: String) throws(CloudError) { try client.abandon(id, of: path) }
    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader { try ObjectAssetReader.open(asset, in: zone, of: self) }
    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter { ObjectAssetWriter(path, in: zone, of: self) }
}
