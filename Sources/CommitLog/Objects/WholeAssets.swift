import CloudStore
import Foundation

/// Collects one asset in memory, and puts it into a store of objects when it is finished.
final class WholeAssetWriter: AssetWriter {
    private let path: AssetPath
    private let zone: ZoneID
    private let store: any ObjectStore
    private var bytes: [UInt8]? = []
    private var index: [UInt8]?

    init(_ path: AssetPath, in zone: ZoneID, of store: any ObjectStore) { (self.path, self.zone, self.store) = (path, zone, store) }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try verifyOpen()
        self.bytes?.append(contentsOf: bytes)
    }

    func setIndex(_ index: Data) throws {
        try verifyOpen()
        guard self.index == nil, index.count <= CloudRecord.indexByteLimit else {
            throw CloudError(.invalidArguments, at: path.indexPath, "a second index, or one of more than \(CloudRecord.indexByteLimit) bytes")
        }
        self.index = Array(index)
    }

    func finish(rawByteCount: Int) throws -> CloudAsset {
        try verifyOpen()
        let bytes = bytes.take() ?? []
        // Before the asset: whoever finds an asset finds its index.
        if let index { try place(index, path.indexPath) }
        try place(bytes, path.path)
        return CloudAsset(
            path: path.path, byteCount: bytes.count, rawByteCount: rawByteCount, sha256: ContentHash.of(bytes),
            index: index.map { CloudAssetIndex(byteCount: $0.count, sha256: ContentHash.of($0)) })
    }

    func abandon() { bytes = nil }

    private func place(_ bytes: [UInt8], _ path: String) throws(CloudError) {
        let place = "\(zone)/\(path)"
        // Eight random digits are in the name.
        guard try store.put(bytes, as: place) != .taken else {
            throw CloudError(.inputOutput, at: place, "an object of that name is there already", hint: "try again", isRetryable: true)
        }
    }

    private func verifyOpen() throws(CloudError) {
        if bytes == nil { throw CloudError(.invalidArguments, at: path.path, "the asset is finished or was abandoned") }
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
        guard offset >= 0, offset <= bytes.count, buffer.count <= bytes.count - offset else {
            throw CloudError(.damaged, at: place, "bytes beyond the end were asked for: the index or the file is damaged")
        }
        buffer.copyBytes(from: bytes[offset..<offset + buffer.count])
    }

    func index() throws -> Data? {
        guard let named = asset.index else { return nil }
        guard let bytes = try store.get(indexPlace, limit: CloudRecord.indexByteLimit) else { throw CloudError.objectPending(indexPlace) }
        try named.verify(bytes, at: indexPlace)
        return Data(bytes)
    }
}
