import CloudStore
import CommitLog
import Foundation
import Platform

/// Reads one asset of a directory cloud at any offset.
///
// SAFETY (@unchecked Sendable): everything is set once in init, except `opened`, which `lock` guards. A descriptor is closed only when it is
// no longer referenced, and pread and openat may be called from several threads at once.
final class DirectoryAssetReader: AssetReader, @unchecked Sendable {
    let byteCount: Int
    private let asset: CloudAsset
    private let path: AssetPath
    private let zone: CloudFolder
    private let reopen: () throws -> CloudFolder
    private let lock = NSLock()
    private var opened: OpenDescriptor

    /// The open file. After its handle went stale, this is another one.
    var descriptor: OpenDescriptor { lock.withLock { opened } }

    /// Opens the asset that a commit names. It must have the size that the commit states.
    ///
    /// - Parameter reopen: opens the zone's folder by name again, if handles become stale.
    init(_ asset: CloudAsset, in zone: CloudFolder, reopen: @escaping () throws -> CloudFolder) throws(CloudError) {
        guard let path = AssetPath(asset.path) else {
            throw CloudError(
                .damaged, at: zone.path, "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit; run snapsync doctor")
        }
        opened = try Self.open(asset, path, in: zone)
        self.asset = asset
        self.path = path
        self.zone = zone
        self.reopen = reopen
        byteCount = asset.byteCount
    }

    private static func open(_ asset: CloudAsset, _ path: AssetPath, in zone: CloudFolder) throws(CloudError) -> OpenDescriptor {
        guard let (descriptor, status) = try zone.file(path.path) else { throw pending(zone.place(path.path)) }
        guard status.byteCount == asset.byteCount else {
            if status.byteCount < asset.byteCount, let arriving = ArrivingFile.error(path.path, status, wanted: asset.byteCount, in: zone) { throw arriving }
            throw CloudError(
                .damaged, at: zone.place(path.path), "\(status.byteCount) bytes long, the commit says \(asset.byteCount)",
                hint: "if a sync tool is bringing the file, wait for it; else bring it back from a copy", isRetryable: true)
        }
        return descriptor
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        let place = zone.place(path.path)
        try verifyRange(of: buffer.count, at: offset, in: place)
        var isStale = false
        let count = try StaleHandle.reopening { () throws in
            // Keep a reference during the read: another thread may replace `opened`.
            let file = isStale ? try opened(anewFor: place) : descriptor
            isStale = true
            return try zone.attempt(at: place) { () throws(SystemFault) in try zone.calls.readAll(file.number, into: buffer, at: offset) }
        }
        guard count == buffer.count else {
            throw CloudError(.damaged, at: place, "the file shrank while it was read", hint: "bring it back from a copy")
        }
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        let place = zone.place(path.indexPath)
        var isStale = false
        let found = try StaleHandle.reopening { () throws in
            let folder = isStale ? try reopen() : zone
            isStale = true
            let bytes = try folder.bytes(of: path.indexPath, limit: CloudRecord.indexByteLimit)
            if let bytes, bytes.count < named.byteCount, let status = try folder.file(path.indexPath)?.status,
                let arriving = ArrivingFile.error(path.indexPath, status, wanted: named.byteCount, in: folder)
            {
                throw arriving
            }
            return bytes
        }
        guard let bytes = found else { throw DirectoryAssetReader.pending(place) }
        try named.verify(bytes, at: place)
        return Data(bytes)
    }

    /// Opens the asset again by its name.
    private func opened(anewFor place: String) throws -> OpenDescriptor {
        let file = try Self.open(asset, path, in: try reopen())
        lock.withLock { opened = file }
        return file
    }

    private static func pending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the file has not arrived yet", hint: "wait for the sync tool, then try again", isRetryable: true)
    }
}

extension ZoneFolder {
    /// Removes an asset and its index, unless a commit names it: a publish that reported an error may have succeeded.
    func discard(_ path: AssetPath) throws {
        guard try !HistoryReader(source: self).isNamed(path) else { return }
        guard let directory = try folder.folder(path.directory) else { return }
        try directory.remove(path.fileName)
        try directory.remove(path.indexFileName)
    }
}
