import CloudStore
import Foundation
import Platform

/// Reads one asset of a directory cloud at any offset.
///
// SAFETY (@unchecked Sendable): everything is set once in init, except `opened`, which `lock` guards. A descriptor is closed only when it is
// no longer referenced, and pread and openat may be called from several threads at once.
final class DirectoryAssetReader: AssetReader, @unchecked Sendable {
    let byteCount: Int
    private let asset: CloudAsset
    /// The paths of the asset and its index beneath the cloud.
    private let place: String
    private let indexPlace: String
    private let root: CloudFolder
    private let reopen: () throws(CloudError) -> CloudFolder
    private let lock = NSLock()
    private var opened: OpenDescriptor

    /// The open file. After its handle went stale, this is another one.
    var descriptor: OpenDescriptor { lock.withLock { opened } }

    /// Opens the asset that a commit names. It must have the size that the commit states.
    ///
    /// - Parameter reopen: opens the cloud's directory by name again, if handles become stale.
    init(_ asset: CloudAsset, in zone: ZoneID, of root: CloudFolder, reopen: @escaping () throws(CloudError) -> CloudFolder) throws(CloudError) {
        guard let path = AssetPath(asset.path) else { throw .badAssetPath(in: zone) }
        (place, indexPlace) = ("\(zone)/\(path.path)", "\(zone)/\(path.indexPath)")
        opened = try Self.open(asset, place, in: root)
        self.asset = asset
        self.root = root
        self.reopen = reopen
        byteCount = asset.byteCount
    }

    private static func open(_ asset: CloudAsset, _ place: String, in root: CloudFolder) throws(CloudError) -> OpenDescriptor {
        guard let (descriptor, status) = try root.file(place) else { throw .objectPending(place) }
        guard status.byteCount == asset.byteCount else {
            if status.byteCount < asset.byteCount, let arriving = ArrivingFile.error(place, status, wanted: asset.byteCount, in: root) { throw arriving }
            throw .otherSize(status.byteCount, insteadOf: asset.byteCount, at: place)
        }
        return descriptor
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try verifyRange(of: buffer.count, at: offset, in: place)
        var isStale = false
        let count = try StaleHandle.reopening { () throws in
            // Keep a reference during the read: another thread may replace `opened`.
            let file = isStale ? try openedAgain() : descriptor
            isStale = true
            return try root.attempt(at: place) { () throws(SystemFault) in try root.calls.readAll(file.number, into: buffer, at: offset) }
        }
        guard count == buffer.count else {
            throw CloudError(.damaged, at: place, "the file shrank while it was read", hint: "bring it back from a copy")
        }
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        var isStale = false
        let found = try StaleHandle.reopening { () throws in
            let folder = isStale ? try reopen() : root
            isStale = true
            let bytes = try folder.bytes(of: indexPlace, limit: CloudRecord.indexByteLimit)
            if let bytes, bytes.count < named.byteCount, let status = try folder.file(indexPlace)?.status,
                let arriving = ArrivingFile.error(indexPlace, status, wanted: named.byteCount, in: folder)
            {
                throw arriving
            }
            return bytes
        }
        guard let bytes = found else { throw CloudError.objectPending(indexPlace) }
        try named.verify(bytes, at: indexPlace)
        return Data(bytes)
    }

    /// Opens the asset again by its name.
    private func openedAgain() throws -> OpenDescriptor {
        let file = try Self.open(asset, place, in: try reopen())
        lock.withLock { opened = file }
        return file
    }
}
