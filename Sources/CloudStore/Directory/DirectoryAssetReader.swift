import Foundation

/// Reads one asset of a directory cloud by position.
///
// SAFETY (@unchecked Sendable): everything is set once in init; the descriptors are closed only when nobody holds the reader
// any more, and pread and openat may be called from several threads at once.
final class DirectoryAssetReader: AssetReader, @unchecked Sendable {
    let byteCount: Int
    private let asset: CloudAsset
    private let path: AssetPath
    private let zone: CloudFolder
    let descriptor: OpenDescriptor

    /// Opens the asset that a commit names, in the size that it says.
    init(_ asset: CloudAsset, in zone: CloudFolder) throws(CloudError) {
        guard let path = AssetPath(asset.path) else {
            throw CloudError(
                .damaged, at: zone.path, "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit; run snapsync doctor")
        }
        guard let (descriptor, status) = try zone.file(path.path) else { throw DirectoryAssetReader.pending(zone.place(path.path)) }
        guard status.byteCount == asset.byteCount else {
            throw CloudError(
                .damaged, at: zone.place(path.path), "\(status.byteCount) bytes long, the commit says \(asset.byteCount)",
                hint: "if a sync tool is bringing the file, wait for it; else bring it back from a copy", isRetryable: true)
        }
        self.asset = asset
        self.path = path
        self.zone = zone
        self.descriptor = descriptor
        byteCount = status.byteCount
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        let place = zone.place(path.path)
        guard offset >= 0, offset <= byteCount, buffer.count <= byteCount - offset else {
            throw CloudError(.damaged, at: place, "bytes beyond the end were asked for: the index or the file is damaged")
        }
        let count = try zone.attempt(at: place) { () throws(SystemFault) in
            try zone.calls.readAll(descriptor.number, into: buffer, at: offset)
        }
        guard count == buffer.count else {
            throw CloudError(.damaged, at: place, "the file shrank while it was read", hint: "bring it back from a copy")
        }
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        let place = zone.place(path.indexPath)
        guard let bytes = try zone.bytes(of: path.indexPath, limit: CloudRecord.indexByteLimit) else { throw DirectoryAssetReader.pending(place) }
        try named.verify(bytes, at: place)
        return Data(bytes)
    }

    private static func pending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the file has not arrived yet", hint: "wait for the sync tool, then try again", isRetryable: true)
    }
}

extension CloudAssetIndex {
    /// Refuses bytes that are not the index that the commit names.
    ///
    /// - Throws: ``CloudError`` with `.damaged` at `place`.
    func verify(_ bytes: [UInt8], at place: String) throws(CloudError) {
        guard bytes.count == byteCount, ContentHash.of(bytes) == sha256 else {
            throw CloudError(.damaged, at: place, "the block index does not match its hash", hint: SealedDocument.damageHint)
        }
    }
}

extension ZoneFolder {
    /// Removes an asset and its index, unless a commit names it after all: a publish may have succeeded that reported an error.
    func discard(_ path: AssetPath) throws {
        guard try !HistoryReader(source: self).isNamed(path) else { return }
        guard let directory = try folder.folder(path.directory) else { return }
        try directory.remove(path.fileName)
        try directory.remove(path.indexFileName)
    }
}
