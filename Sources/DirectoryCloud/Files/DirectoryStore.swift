import CloudStore
import Foundation
import Platform
import StrictText
import Synchronization

/// A directory as a store of objects: each object is a file, and each put-if-absent gives a complete, durable file its name if the name is free.
///
/// Every call of a cloud opens the directory again and checks that `cloud.json` still has the same UUID (``reopening(_:)``). If the directory
/// is unmounted or swapped, nothing in it is changed.
///
// SAFETY (@unchecked Sendable): `root` is set only in the copy that ``reopening(_:)`` passes to a call, which uses it on one thread.
struct DirectoryStore: ObjectStore, @unchecked Sendable {
    /// The directory's path, as it was given.
    let path: String
    let calls: any FileSystemCalls
    let files: FileMaker
    private let uuid: String
    private let marker = LastMarker()
    /// The open directory, while a call runs in it.
    private var root: CloudFolder?

    init(path: String, uuid: String, calls: any FileSystemCalls, files: FileMaker) {
        (self.path, self.uuid, self.calls, self.files) = (path, uuid, calls, files)
    }

    var place: String { path }
    var isReplicated: Bool { true }

    // MARK: the open directory

    func reopening<T>(_ body: (any ObjectStore) throws -> T) throws -> T { try opening { store, _ in try body(store) } }

    /// Opens the directory and runs `body` there, again if handles become stale.
    func opening<T>(_ body: (_ store: DirectoryStore, _ root: CloudFolder) throws -> T) throws -> T {
        try StaleHandle.reopening { () throws in
            do {
                var opened = self
                let root = try directory()
                opened.root = root
                return try body(opened, root)
            } catch let error as CloudError where error.code == .damaged {
                // A sync tool that writes in place causes the same error for a while.
                throw (try? CloudRoot.open(path, calls)).flatMap { ArrivingFile.error(insteadOf: error, in: $0) } ?? error
            }
        }
    }

    /// The directory, opened and checked now if no call has opened it.
    func directory() throws(CloudError) -> CloudFolder {
        if let root { return root }
        let root = try CloudRoot.open(path, calls)
        guard let bytes = try root.bytes(of: CloudMarker.fileName, limit: CloudMarker.byteLimit) else { throw CloudRoot.missingMarker(path, expected: true) }
        let found = try marker.uuid(in: bytes)
        guard found == uuid else { throw CloudRoot.otherCloud(path, found: found, expected: uuid) }
        return root
    }

    /// Opens a folder; nil if it does not exist.
    private func folder(_ path: String) throws(CloudError) -> CloudFolder? {
        try directory().folder(path.exact.hasSuffix("/") ? String(path.dropLast()) : path)
    }

    /// Opens the folder of a file, and creates it if it is missing. The names of new folders are durable on return, also if another process
    /// created them and was killed. The folders of a zone itself, and those of devices' reports, were durable before anything relied on them.
    func folder(for file: String) throws(CloudError) -> (folder: CloudFolder, name: String) {
        let parts = file.exact.split(separator: "/"), root = try directory()
        func made(_ name: String, in above: CloudFolder, isKnown: Bool) throws(CloudError) -> CloudFolder {
            if isKnown, let found = try above.folder(name) { return found }
            return try files.folder(name, in: above)
        }
        guard let name = parts.last, parts.count > 2 else { return (root, file) }
        let zone: CloudFolder
        if let found = try root.folder("\(parts[0])/\(parts[1])") {
            zone = found
        } else {
            zone = try files.folder(parts[1], in: try files.folder(parts[0], in: root))
        }
        guard parts.count > 3 else { return (zone, name) }
        let above = try made(parts[2], in: zone, isKnown: true)
        return (parts.count > 4 ? try made(parts[3], in: above, isKnown: parts[2] == CloudNames.devices) : above, name)
    }

    func makeFolders(of zone: ZoneID) throws(CloudError) {
        let folder = try files.folder(zone.name, in: try files.folder(zone.scope.rawValue, in: try directory()))
        for name in [CloudNames.commits, CloudNames.checkpoints, CloudNames.assets, CloudNames.messages, CloudNames.devices] {
            _ = try files.folder(name, in: folder)
        }
    }

    func makeDurable(_ folder: String, isOwn: Bool) throws(CloudError) {
        let folder = try self.folder(folder)
        if isOwn { try folder?.synchronize() } else { try folder?.synchronizeIfPossible() }
    }

    /// Opens the folder by name on a remote file system. NFS caches for up to a minute that a name did not exist; opening the folder makes the
    /// client revalidate it (close-to-open consistency). Local file systems need nothing.
    func refresh(_ folder: String) throws(CloudError) {
        if files.isRemote(try directory()) { _ = try self.folder(folder) }
    }

    // MARK: reading

    func get(_ path: String, limit: Int) throws(CloudError) -> [UInt8]? { try directory().bytes(of: path, limit: limit) }

    func size(of path: String) throws(CloudError) -> Int? { try directory().file(path)?.status.byteCount }

    func paths(_ prefix: String) throws(CloudError) -> [String] {
        var found: [String] = []
        try eachFolder(prefix) { folder throws(CloudError) in
            found += try folder.names().sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }.map(folder.place)
        }
        return found
    }

    func list(_ prefix: String, first: Int?) throws(CloudError) -> [StoredObject] {
        var found: [StoredObject] = []
        try eachFolder(prefix) { folder throws(CloudError) in found += try listed(in: folder) { _ in true } }
        return first.map { Array(found.prefix($0)) } ?? found
    }

    /// Lists the temporary files of killed runs. Any folder may contain one, since a run tests the placing method in the first folder it uses.
    func leftovers(_ prefix: String) throws(CloudError) -> [StoredObject] {
        guard let zone = try folder(prefix) else { return [] }
        var found = try listed(in: zone, TemporaryName.matches)
        for name in Self.foldersOfFiles + Self.foldersOfFolders {
            try eachFolder("\(zone.path)/\(name)/") { folder throws(CloudError) in found += try listed(in: folder, TemporaryName.matches) }
        }
        return found
    }

    private static let foldersOfFiles = [CloudNames.commits, CloudNames.checkpoints]
    /// The folders of a zone that contain folders of files.
    private static let foldersOfFolders = [CloudNames.assets, CloudNames.messages, CloudNames.devices]

    /// Visits a folder of files, or each such folder in it, sorted by name.
    private func eachFolder(_ path: String, _ body: (CloudFolder) throws(CloudError) -> Void) throws(CloudError) {
        guard let folder = try folder(path) else { return }
        let parts = path.exact.split(separator: "/")
        guard parts.count == 3, Self.foldersOfFolders.contains(parts[2]) else { return try body(folder) }
        try folder.eachFolder { _, inner throws(CloudError) in try body(inner) }
    }

    /// Lists plain files. A file that another prune has just removed is left out, and so is anything else, which is never removed.
    private func listed(in folder: CloudFolder, _ isWanted: (String) -> Bool) throws(CloudError) -> [StoredObject] {
        var found: [StoredObject] = []
        for name in try folder.names().filter(isWanted).sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            do throws(CloudError) {
                guard let status = try folder.file(name)?.status else { continue }
                found.append(StoredObject(path: folder.place(name), byteCount: status.byteCount, modified: status.modified))
            } catch {
                guard error.code == .damaged else { throw error }
            }
        }
        return found
    }

    func zoneNames(in scope: CloudScope) throws(CloudError) -> [String] {
        var names: [String] = []
        try directory().folder(scope.rawValue)?.eachFolder { name, _ in names.append(name) }
        return names
    }

    func isArriving(_ path: String) -> Bool {
        guard let root = try? directory(), let bytes = try? root.bytes(of: path, limit: CloudMessage.byteLimit), ArrivingFile.isBeginning(bytes),
            let status = try? root.file(path)?.status
        else { return false }
        return ArrivingFile.error(path, status, wanted: nil, in: root) != nil
    }

    // MARK: writing

    func put(_ bytes: [UInt8], as path: String) throws(CloudError) -> Placement { try put(bytes, as: path) { _ in } }

    func put(_ bytes: [UInt8], as path: String, clock: Instant, in zone: ZoneID) throws(CloudError) -> Placement {
        try put(bytes, as: path) { sealed throws(CloudError) in try CommitClock.verify(clock, against: sealed.modified) }
    }

    private func put(_ bytes: [UInt8], as path: String, judge: (DurableFile.Sealed) throws(CloudError) -> Void) throws(CloudError) -> Placement {
        let (folder, name) = try folder(for: path)
        // Reports only repeat what other files prove. If a power cut removes their names, the device writes them again.
        let parts = path.exact.split(separator: "/"), isLasting = parts.count < 3 || parts[2] != CloudNames.devices
        return try files.put(bytes, as: name, in: folder, isLasting: isLasting, judge: judge)
    }

    /// Removes files of zones. Whatever a path is, nothing is removed outside the folders of a zone.
    func remove(_ paths: [String]) throws(CloudError) {
        for path in paths {
            let parts = path.exact.split(separator: "/", omittingEmptySubsequences: false)
            guard let name = parts.last, parts.allSatisfy({ !$0.isEmpty && $0 != ".." }),
                parts.count == 3 ? TemporaryName.matches(name) : parts.count > 3 && (Self.foldersOfFiles + Self.foldersOfFolders).contains(parts[2])
            else { continue }
            try folder(parts.dropLast().joined(separator: "/"))?.remove(name)
        }
    }

    /// The file system's present time, from a file that is created and abandoned again.
    func clock(in zone: ZoneID) throws(CloudError) -> Instant {
        let place = "\(zone)/\(CloudNames.commits)"
        let file = try files.newFile(in: try folder(for: "\(place)/clock").folder, at: place)
        defer { file.abandon() }
        let clock = try file.seal().modified
        // Other runs sweep a directory when they create a file in it. That hardly ever happens above the zones, so sweep those directories here.
        let root = try directory()
        files.sweep(root, clock: clock)
        if let scope = try root.folder(zone.scope.rawValue) { files.sweep(scope, clock: clock) }
        return clock
    }

    // MARK: assets and events

    func reader(of asset: CloudAsset, in zone: ZoneID) throws(CloudError) -> any AssetReader {
        var unopened = self
        unopened.root = nil
        return try DirectoryAssetReader(asset, in: zone, of: try directory()) { [unopened] () throws(CloudError) in try unopened.directory() }
    }

    func writer(at path: AssetPath, in zone: ZoneID) -> any AssetWriter { DirectoryAssetWriter(path, in: zone, of: self) }

    /// Reports the file system's events. They are incomplete if other machines write to it too.
    func events(in zone: ZoneID, _ handler: @escaping @Sendable (ZoneHint) -> Void) -> (any ZoneEventSource)? {
        ZoneEvents(cloud: path, zone: zone, handler)
    }

    /// The `cloud.json` that was read last. Every call reads the file again; the same bytes are parsed once.
    private final class LastMarker: Sendable {
        private let last = Mutex<(bytes: [UInt8], uuid: String)?>(nil)

        func uuid(in bytes: [UInt8]) throws(CloudError) -> String {
            if let known = last.withLock({ $0 }), known.bytes == bytes { return known.uuid }
            let uuid = try CloudMarker.identity(from: bytes).uuid
            last.withLock { $0 = (bytes, uuid) }
            return uuid
        }
    }
}

/// A zone of an open directory, and its folder, for examination and repair.
struct ZoneFolder {
    let zone: Zone
    let folder: CloudFolder
    let files: FileMaker
    var history: HistoryID { zone.history }

    /// - Throws: ``CloudError`` with `.zoneNotFound` if the zone has no folder.
    init(_ zone: Zone) throws(CloudError) {
        guard let store = zone.store as? DirectoryStore, let folder = try store.directory().folder("\(zone.history.zone)") else {
            throw CloudError(.zoneNotFound, at: zone.history.zone.place, "there is no folder of this zone")
        }
        (self.zone, self.folder, files) = (zone, folder, store.files)
    }

    /// Returns a directory of the zone, and creates it again if a sync tool left it out.
    func subfolder(_ name: String) throws(CloudError) -> CloudFolder {
        if let found = try folder.folder(name) { return found }
        return try files.folder(name, in: folder)
    }
}
