package import CloudStore
package import StrictText

/// A store of named, immutable objects, such as a database of records. A cloud stands on it if no object is ever replaced.
///
/// The names are the paths of files in a directory cloud: `private/ZentikSyncZone/commits/00000000000000000001.json`. All calls block, and are safe
/// from several threads at once. They throw ``CloudError``.
package protocol ObjectStore: Sendable {
    /// What people call the store.
    var place: String { get }
    /// The store's own clock.
    var clock: Instant { get throws(CloudError) }
    /// The path of the object that says which cloud the zones of a scope belong to.
    func markerPath(of scope: CloudScope) -> String

    /// The bytes of an object; nil if there is none. Throws `limitExceeded` for one of more than `limit` bytes.
    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]?
    /// The size of an object in bytes; nil if there is none.
    func size(of path: String) throws(CloudError) -> Int?
    /// The objects whose paths begin with `prefix`, in the order of the paths; not more than `first`, if given.
    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject]
    /// The names of the zones of a scope that may be there.
    func zoneNames(in scope: CloudScope) throws(CloudError) -> Set<String>
    /// Puts an object in place if nothing has its path. Throws `serverResponseLost` if it cannot be found out whether it is there, or will be.
    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement
    /// Removes objects, in that order where the store cannot remove them together; nothing happens to one that is gone.
    func remove(_ paths: [String]) throws(CloudError)

    /// Opens an asset of a zone, in the size that its commit says.
    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader
    /// Begins an asset of a zone.
    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter

    /// What was begun and neither finished nor abandoned, whose paths begin with `prefix`. The default returns none.
    func unfinishedUploads(_ prefix: String) throws(CloudError) -> [UnfinishedUpload]
    /// Ends an upload and removes its parts; nothing happens if it is gone.
    func abandonUpload(_ id: String, of path: String) throws(CloudError)
}

/// An object of a listing.
package struct StoredObject: Sendable {
    /// The path beneath the cloud.
    package let path: String
    package let byteCount: Int
    /// When it was stored, by the store's clock.
    package let modified: Instant

    package init(path: String, byteCount: Int, modified: Instant) { (self.path, self.byteCount, self.modified) = (path, byteCount, modified) }
}

/// An upload in parts that was begun and neither finished nor abandoned.
package struct UnfinishedUpload: Sendable {
    /// The path beneath the cloud that the object would have had.
    package let path: String
    package let id: String
    package let begun: Instant

    package init(path: String, id: String, begun: Instant) { (self.path, self.id, self.begun) = (path, id, begun) }
}

extension ObjectStore {
    package func markerPath(of scope: CloudScope) -> String { CloudMarker.fileName }
    package func remove(_ path: String) throws(CloudError) { try remove([path]) }
    package func list(_ prefix: String) throws(CloudError) -> [StoredObject] { try list(prefix, first: nil) }
    package func unfinishedUploads(_ prefix: String) throws(CloudError) -> [UnfinishedUpload] { [] }
    package func abandonUpload(_ id: String, of path: String) throws(CloudError) {}

    /// One listing of everything in the scope: a store holds few zones, and a listing by folders would be one more feature to need.
    package func zoneNames(in scope: CloudScope) throws(CloudError) -> Set<String> {
        var names: Set<String> = []
        for object in try list("\(scope.rawValue)/") {
            let parts = object.path.split(separator: "/")
            if parts.count == 3, parts[2] == ZoneMarker.fileName { names.insert(String(parts[1])) }
        }
        return names
    }
}

/// The errors that every such store gives in the same words.
extension CloudError {
    /// That an asset's path is none; nothing was opened.
    package static func badAssetPath(in zone: ZoneID) -> CloudError {
        CloudError(
            .damaged, at: "\(zone)", "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit; run snapsync doctor")
    }

    /// That an object which a commit names is not there.
    package static func objectPending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the object has not arrived yet", hint: "wait for the tool that copies objects, then try again", isRetryable: true)
    }

    /// That an object has another size than a commit says.
    package static func otherSize(_ size: Int, insteadOf expected: Int, at place: String) -> CloudError {
        CloudError(
            .damaged, at: place, "\(size) bytes long, the commit says \(expected)",
            hint: "if a tool is copying objects, wait for it; else bring the object back from a copy", isRetryable: true)
    }

    /// That it is not known whether an object was stored.
    package static func unknownOutcome(at path: String, _ reason: String) -> CloudError {
        CloudError(
            .serverResponseLost, at: path, "the server did not say whether it has stored the object: \(reason)", hint: "the next run finds out",
            isRetryable: true)
    }
}
