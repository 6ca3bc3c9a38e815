package import Foundation
import Platform
public import StrictText
import Synchronization

/// A store of named, immutable objects, such as a database of records. ``CloudDatabase`` makes a cloud of it: a backend of your own is a
/// store.
///
/// The store must offer one thing, ``put(_:as:)``: to store an object only if its path is free, for any number of concurrent writers. It never
/// replaces an object.
///
/// The names are the file paths of a directory cloud: `private/ZentikSyncZone/commits/00000000000000000001.json`. All calls block and may be
/// made from several threads at once. They throw ``CloudError``.
public protocol ObjectStore: Sendable {
    /// The name of the store in messages to people.
    var place: String { get }
    /// The store's own clock. A store that has one for each zone, such as a mounted directory, asks that of `zone`.
    func clock(in zone: ZoneID) throws(CloudError) -> Instant
    /// The path of the object that says which cloud the zones of a scope belong to.
    func markerPath(of scope: CloudScope) -> String

    /// The bytes of an object; nil if there is none. Throws `limitExceeded` for one of more than `limit` bytes.
    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]?
    /// The size of an object in bytes; nil if there is none.
    func size(of path: String) throws(CloudError) -> Int?
    /// The objects whose paths begin with `prefix`, sorted by path; at most `first` of them, if given.
    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject]
    /// The paths of the objects that begin with `prefix`, sorted. The default lists the objects; a directory lists names without looking at the
    /// files.
    func paths(_ prefix: String) throws(CloudError) -> [String]
    /// The objects of one folder, and the names of its subfolders, each with its slash; nil if that is as slow as listing the objects in the
    /// subfolders, too. The default returns nil.
    ///
    /// - Parameter folder: the path of the folder, with a slash at the end.
    func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])?
    /// The names of the zones that may exist in a scope, in any order.
    func zoneNames(in scope: CloudScope) throws(CloudError) -> [String]
    /// Stores an object if no object has its path. Throws `serverResponseLost` if it is unknown whether the object is stored or will be.
    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement
    /// Stores an object in the same way, but refuses a device's clock that differs from the store's own by a day or more. The default compares
    /// it with ``clock(in:)`` first.
    func put(_ bytes: [UInt8], as path: String, clock: Instant, in zone: ZoneID) throws(CloudError) -> Placement
    /// Removes objects, in the given order if the store cannot remove them in one step. An object that is gone is ignored.
    func remove(_ paths: [String]) throws(CloudError)

    /// How many requests one call sends in parallel. The default is 1.
    var width: Int { get }

    /// Opens an asset of a zone. It must have the size that its commit states. The default reads the whole object into memory.
    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader
    /// Starts writing an asset of a zone. The default collects it in memory, and stores it when it is finished.
    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter

    /// What killed runs have left beneath a prefix: temporary files, or unfinished uploads. ``remove(_:)`` takes their paths, which are no
    /// paths of objects. The default returns none.
    func leftovers(_ prefix: String) throws(CloudError) -> [StoredObject]
    /// The state of the account that the store belongs to; nil if that is to be found by reading the cloud's identity, as the default does.
    func accountStatus() async -> AccountStatus?
    /// Calls `handler` when something may have changed in a zone; see ``CloudDatabase/events(in:_:)``. The default returns nil.
    func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)?

    // For stores of files in folders. Folders are named with a slash at the end. The defaults do nothing.

    /// Whether other programs may replace the place, or copy files into it, while this one uses it. Then the zone's marker is read at every
    /// call, and conflict copies are looked for. The default is false.
    var isReplicated: Bool { get }
    /// Runs one call's requests on the store as it is now. The default passes the store itself. A mounted directory is opened and checked, and
    /// the body runs again if the mount has lost its open files.
    func reopening<T>(_ body: (any ObjectStore) throws -> T) throws -> T
    /// Makes the folders of a new zone, before its marker is stored.
    func makeFolders(of zone: ZoneID) throws(CloudError)
    /// Makes the names in a folder durable: removals of this process if `isOwn`, or else what another process may have stored before it was
    /// killed.
    func makeDurable(_ folder: String, isOwn: Bool) throws(CloudError)
    /// Makes the next read of a folder see what other machines have stored.
    func refresh(_ folder: String) throws(CloudError)
    /// Whether another program may still be writing an object whose content looks cut off.
    func isArriving(_ path: String) -> Bool
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
    public func paths(_ prefix: String) throws(CloudError) -> [String] { try list(prefix).map(\.path) }
    public func put(_ bytes: [UInt8], as path: String, clock: Instant, in zone: ZoneID) throws(CloudError) -> Placement {
        try CommitClock.verify(clock, against: self.clock(in: zone))
        return try put(bytes, as: path)
    }
    public func leftovers(_ prefix: String) throws(CloudError) -> [StoredObject] { [] }
    public func accountStatus() async -> AccountStatus? { nil }
    public func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? { nil }
    public var isReplicated: Bool { false }
    public func reopening<T>(_ body: (any ObjectStore) throws -> T) throws -> T { try body(self) }
    public func makeFolders(of zone: ZoneID) throws(CloudError) {}
    public func makeDurable(_ folder: String, isOwn: Bool) throws(CloudError) {}
    public func refresh(_ folder: String) throws(CloudError) {}
    public func isArriving(_ path: String) -> Bool { false }

    public func listFolder(_ folder: String) throws(CloudError) -> (objects: [StoredObject], folders: [String])? { nil }

    /// The default lists the scope by folders, or every object of the scope if the store cannot do that.
    public func zoneNames(in scope: CloudScope) throws(CloudError) -> [String] {
        if let listed = try listFolder("\(scope.rawValue)/") { return listed.folders.map { String($0.dropLast()) } }
        var names: [String] = []
        for object in try list("\(scope.rawValue)/") {
            let parts = object.path.exact.split(separator: "/")
            if parts.count == 3, parts[2] == ZoneMarker.fileName { names.append(String(parts[1])) }
        }
        return names
    }
}

/// The outcome of storing an object whose path may be taken.
public enum Placement: Sendable {
    /// The object was stored now, and is durable.
    case placed
    /// The same bytes were already there, perhaps from an earlier attempt; they are durable.
    case wasThere
    /// Other bytes are there.
    case taken
}

/// Errors that all object stores share.
extension CloudError {
    /// The error for an invalid asset path; nothing was opened.
    package static func badAssetPath(in zone: ZoneID) -> CloudError {
        CloudError(
            .damaged, at: zone.place, "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit; run snapsync check")
    }

    /// The error for an object that a commit names and that is not there.
    package static func objectPending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the file has not arrived yet", hint: "wait for the sync tool, then try again", isRetryable: true)
    }

    /// The error for an object whose size differs from the one in the commit.
    package static func otherSize(_ size: Int, insteadOf expected: Int, at place: String) -> CloudError {
        CloudError(
            .damaged, at: place, "\(size) bytes long, the commit says \(expected)",
            hint: "if a sync tool is bringing the file, wait for it; else bring it back from a copy", isRetryable: true)
    }

    /// The error when it is unknown whether an object was stored.
    package static func unknownOutcome(at path: String, _ reason: String) -> CloudError {
        CloudError(
            .serverResponseLost, at: path, "the server did not say whether it has stored the object: \(reason)", hint: "the next run finds out",
            isRetryable: true)
    }
}

extension ObjectStore {
    public var width: Int { 1 }

    /// Runs bodies that each wait for requests, ``width`` at a time, and returns their results in order.
    ///
    /// - Throws: the error of the first failed body in the given order: at once if the store sends one request at a time, or else when all
    ///   have ended.
    package func results<T: Sendable>(of bodies: [@Sendable () throws -> T]) throws -> [T] {
        guard bodies.count > 1, width > 1 else { return try bodies.map { try $0() } }
        let results = Mutex([Result<T, any Error>?](repeating: nil, count: bodies.count))
        for start in stride(from: 0, to: bodies.count, by: width) {
            BlockingThreads.run(
                min(width, bodies.count - start),
                { number in
                    let result = Result { try bodies[start + number]() }
                    results.withLock { $0[start + number] = result }
                }, while: {})
        }
        return try results.withLock { $0 }.compactMap { try $0?.get() }
    }
}

/// Collects one asset in memory, and puts it into a store of objects when it is finished.
final class WholeAssetWriter: AssetWriter {
    private let zone: ZoneID
    private let store: any ObjectStore
    private var draft: AssetDraft
    private var bytes: [UInt8] = []

    init(_ path: AssetPath, in zone: ZoneID, of store: any ObjectStore) { (draft, self.zone, self.store) = (AssetDraft(path), zone, store) }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try draft.add(bytes)
        self.bytes.append(contentsOf: bytes)
    }

    func setIndex(_ index: Data) throws { try draft.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        try draft.verifyOpen()
        defer { abandon() }
        // Before the asset: whoever finds an asset finds its index.
        if let index = draft.index { try place([UInt8](index), draft.path.indexPath) }
        try place(bytes, draft.path.path)
        return draft.asset(rawByteCount: rawByteCount)
    }

    func abandon() {
        draft.end()
        bytes = []
    }

    private func place(_ bytes: [UInt8], _ path: String) throws(CloudError) {
        let place = "\(zone)/\(path)"
        guard try store.put(bytes, as: place) != .taken else { throw AssetDraft.isTaken(at: place) }
    }
}

/// Reads one asset of a store of objects, which was got whole when it was opened.
final class WholeAssetReader: AssetReader {
    private let asset: CloudAsset
    private let place: String
    private let indexPlace: String
    private let store: any ObjectStore
    private let bytes: [UInt8]

    /// Gets the asset that a commit names, in the size that it says.
    init(_ asset: CloudAsset, in zone: ZoneID, of store: any ObjectStore) throws(CloudError) {
        guard let path = AssetPath(asset.path) else { throw .badAssetPath(in: zone) }
        (self.asset, self.store) = (asset, store)
        (place, indexPlace) = ("\(zone)/\(path.path)", "\(zone)/\(path.indexPath)")
        guard let size = try store.size(of: place) else { throw .objectPending(place) }
        guard size == asset.byteCount else { throw .otherSize(size, insteadOf: asset.byteCount, at: place) }
        guard let bytes = try store.get(place, limit: size) else { throw .objectPending(place) }
        guard bytes.count == size else { throw .otherSize(bytes.count, insteadOf: size, at: place) }
        self.bytes = bytes
    }

    var byteCount: Int { bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try verifyRange(of: buffer.count, at: offset, in: place)
        buffer.copyBytes(from: bytes[offset..<offset + buffer.count])
    }

    func index() throws -> Data? { try store.index(of: asset, at: indexPlace) }
}
