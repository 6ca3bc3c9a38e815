import Foundation

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
