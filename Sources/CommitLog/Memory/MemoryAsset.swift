import CloudStore
import Foundation

/// Collects one asset of a memory cloud, then stores it together with its index in one step.
final class MemoryAssetWriter: AssetWriter {
    private let zone: MemoryZone
    private var draft: AssetDraft
    private var bytes: [UInt8] = []

    init(_ path: AssetPath, into zone: MemoryZone) {
        draft = AssetDraft(path)
        self.zone = zone
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try draft.add(bytes)
        self.bytes.append(contentsOf: bytes)
    }

    func setIndex(_ index: Data) throws { try draft.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        try draft.verifyOpen()
        draft.end()
        let path = draft.path, index = draft.index.map { [UInt8]($0) }, now = zone.now()
        let isFree = zone.change { files in
            guard files.assets[path.path] == nil else { return false }
            files.assets[path.path] = bytes
            files.assets[path.indexPath] = index
            for written in [path.path, path.indexPath] { files.written[written] = now }
            return true
        }
        guard isFree else { throw CloudError(.inputOutput, at: path.path, "no free name was found for the asset", isRetryable: true) }
        return draft.asset(rawByteCount: rawByteCount)
    }

    func abandon() {
        draft.end()
        bytes = []
    }
}

/// Reads one asset of a memory cloud as it was when it was opened.
final class MemoryAssetReader: AssetReader {
    private let asset: CloudAsset
    private let path: AssetPath
    private let bytes: [UInt8]
    private let indexBytes: [UInt8]?

    /// Opens the asset that a commit names. It must have the size that the commit states.
    init(_ asset: CloudAsset, in zone: MemoryZone) throws(CloudError) {
        guard let path = AssetPath(asset.path) else {
            throw CloudError(
                .damaged, at: "\(zone.info.id)", "an asset's path is not one of an asset; nothing was opened", hint: "do not trust this commit")
        }
        let files = zone.files
        guard let bytes = files.assets[path.path] else { throw MemoryAssetReader.pending(path.path) }
        guard bytes.count == asset.byteCount else {
            throw CloudError(
                .damaged, at: path.path, "\(bytes.count) bytes long, the commit says \(asset.byteCount)", isRetryable: true)
        }
        self.asset = asset
        self.path = path
        self.bytes = bytes
        indexBytes = files.assets[path.indexPath]
    }

    var byteCount: Int { bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws {
        try verifyRange(of: buffer.count, at: offset, in: path.path)
        buffer.copyBytes(from: bytes[offset..<offset + buffer.count])
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        guard let indexBytes else { throw MemoryAssetReader.pending(path.indexPath) }
        try named.verify(indexBytes, at: path.indexPath)
        return Data(indexBytes)
    }

    private static func pending(_ place: String) -> CloudError {
        CloudError(.pending, at: place, "the file has not arrived yet", hint: "try again later", isRetryable: true)
    }
}
