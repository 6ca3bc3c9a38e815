public import CloudStore
package import Foundation
public import StrictText

/// A store of named, immutable objects, such as a database of records. ``ObjectStoreCloud`` makes a cloud of it: the shortest way to a backend
/// of your own.
///
/// The store must offer one thing, ``put(_:as:)``: to store an object only if its path is free, for any number of concurrent writers. It never
/// replaces an object.
///
/// The names are the file paths of a directory cloud: `private/ZentikSyncZone/commits/00000000000000000001.json`. All calls block and may be
/// made from several threads at once. They throw ``CloudError``.
public protocol ObjectStore: Sendable {
    /// The name of the store in messages to people.
    var place: String { get }
    /// The store's own clock.
    var clock: Instant { get throws(CloudError) }
    /// The path of the object that says which cloud the zones of a scope belong to.
    func markerPath(of scope: CloudScope) -> String

    /// The bytes of an object; nil if there is none. Throws `limitExceeded` for one of more than `limit` bytes.
    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]?
    /// The size of an object in bytes; nil if there is none.
    func size(of path: String) throws(CloudError) -> Int?
    /// The objects whose paths begin with `prefix`, sorted by path; at most `first` of them, if given.
    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject]
    /// A page of the objects whose paths begin with `prefix` and come after `path`, sorted by path: as many as one request lists, at least one if
    /// there is any. nil if the store cannot begin in the middle of a listing. The default returns nil.
    func listPage(_ prefix: String, after path: String) throws(CloudError) -> (objects: [StoredObject], isLast: Bool)?
    /// The objects of one folder, and the names of its subfolders, each with its slash; nil if that is as slow as listing the objects in the
    /// subfolders, too. The default returns nil.
    ///
    /// - Parameter folder: the path of the folder, with a slash at the end.
    func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])?
    /// The names of the zones that may exist in a scope.
    func zoneNames(in scope: CloudScope) throws(CloudError) -> Set<String>
    /// Stores an object if no object has its path. Throws `serverResponseLost` if it is unknown whether the object is stored or will be.
    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement
    /// Removes objects, in the given order if the store cannot remove them in one step. An object that is gone is ignored.
    func remove(_ paths: [String]) throws(CloudError)

    /// How many requests one call sends in parallel. The default is 1.
    var width: Int { get }

    /// Opens an asset of a zone. It must have the size that its commit states. The default reads the whole object into memory.
    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader
    /// Starts writing an asset of a zone. The default collects it in memory, and stores it when it is finished.
    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter

    /// Lists the uploads that were started but neither finished nor abandoned, and whose paths begin with `prefix`. The default returns
    /// none.
    func unfinishedUploads(_ prefix: String) throws(CloudError) -> [UnfinishedUpload]
    /// Ends an upload and removes its parts. Does nothing if the upload is gone.
    func abandonUpload(_ id: String, of path: String) throws(CloudError)
}

/// An object of a listing.
public struct StoredObject: Sendable {
    /// The path beneath the cloud.
    public let path: String
    public let byteCount: Int
    /// When it was stored, by the store's clock.
    public let modified: Instant

    public init(path: String, byteCount: Int, modified: Instant) { (self.path, self.byteCount, self.modified) = (path, byteCount, modified) }
}

/// A multipart upload that was started but neither finished nor abandoned.
public struct UnfinishedUpload: Sendable {
    /// The path beneath the cloud that the object would have had.
    public let path: String
    public let id: String
    public let begun: Instant

    public init(path: String, id: String, begun: Instant) { (self.path, self.id, self.begun) = (path, id, begun) }
}

extension ObjectStore {
    public func markerPath(of scope: CloudScope) -> String { CloudMarker.fileName }
    public func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader { try WholeAssetReader(asset, in: zone, of: self) }
    public func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter { WholeAssetWriter(path, in: zone, of: self) }
    package func remove(_ path: String) throws(CloudError) { try remove([path]) }

    /// The block index of an asset, after checking its size and hash; nil if the asset has none.
    package func index(of asset: CloudAsset, at path: String) throws(CloudError) -> Data? {
        guard let named = asset.index else { return nil }
        guard let bytes = try get(path, limit: CloudRecord.indexByteLimit) else { throw .objectPending(path) }
        try named.verify(bytes, at: path)
        return Data(bytes)
    }

    package func list(_ prefix: String) throws(CloudError) -> [StoredObject] { try list(prefix, first: nil) }
    public func unfinishedUploads(_ prefix: String) throws(CloudError) -> [UnfinishedUpload] { [] }
    public func abandonUpload(_ id: String, of path: String) throws(CloudError) {}

    public func listPage(_ prefix: String, after path: String) throws(CloudError) -> (objects: [StoredObject], isLast: Bool)? { nil }
    public func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])? { nil }

    /// The default lists the scope by folders, or every object of the scope if the store cannot do that.
    public func zoneNames(in scope: CloudScope) throws(CloudError) -> Set<String> {
        if let listed = try listFolder("\(scope.rawValue)/") { return Set(listed.folders.map { String($0.dropLast()) }) }
        var names: Set<String> = []
        for object in try list("\(scope.rawValue)/") {
            let parts = object.path.exact.split(separator: "/")
            if parts.count == 3, parts[2] == ZoneMarker.fileName { names.insert(String(parts[1])) }
        }
        return names
    }
}

/// Errors that all object stores share.
extension CloudError {
    /// The error for an invalid asset path; nothing was opened.
    package static func badAssetPath(in zone: ZoneID) -> CloudError {
        CloudError(
            .damaged, at: "\(zone)", "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit; run snapsync doctor")
    }

    /// The error for an object that a commit names and that is not there.
    package static func objectPending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the object has not arrived yet", hint: "wait for the tool that copies objects, then try again", isRetryable: true)
    }

    /// The error for an object whose size differs from the one in the commit.
    package static func otherSize(_ size: Int, insteadOf expected: Int, at place: String) -> CloudError {
        CloudError(
            .damaged, at: place, "\(size) bytes long, the commit says \(expected)",
            hint: "if a tool is copying objects, wait for it; else bring the object back from a copy", isRetryable: true)
    }

    /// The error when it is unknown whether an object was stored.
    package static func unknownOutcome(at path: String, _ reason: String) -> CloudError {
        CloudError(
            .serverResponseLost, at: path, "the server did not say whether it has stored the object: \(reason)", hint: "the next run finds out",
            isRetryable: true)
    }
}
