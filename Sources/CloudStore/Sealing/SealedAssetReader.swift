package import Foundation
package import Sealing

/// Reads an asset of a sealed zone. The members stay encrypted boxes, which ``boxes`` opens; the block index is returned
/// decrypted.
package final class SealedAssetReader: AssetReader {
    package let boxes: DatasetBoxes?
    /// The reader that returns the boxes.
    let wrapped: any AssetReader
    private let place: String

    /// - Parameters:
    ///   - asset: the asset that `wrapped` reads.
    ///   - keys: the zone's keys.
    /// - Throws: ``CloudError`` with `.damaged` if the asset's path is invalid.
    package init(_ wrapped: any AssetReader, of asset: CloudAsset, keys: BoxKeys) throws(CloudError) {
        guard let path = AssetPath(asset.path) else {
            throw CloudError(.damaged, at: asset.path, "not the path of an asset", hint: CloudError.damageHint)
        }
        self.wrapped = wrapped
        boxes = DatasetBoxes(keys, dataset: path.record)
        place = path.indexPath
    }

    package var byteCount: Int { wrapped.byteCount }
    package func expect(_ ranges: [Range<Int>]) { wrapped.expect(ranges) }

    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws { try wrapped.read(into: buffer, at: offset) }

    /// The decrypted block index.
    ///
    /// - Throws: ``CloudError`` with `.keyUnavailable` for an epoch whose key this device does not have, `.damaged` if the box cannot be
    ///   opened.
    package func index() throws -> Data? {
        guard let box = try wrapped.index(), let boxes else { return nil }
        do throws(BoxError) {
            return try boxes.keys.opened(box, kind: .index, dataset: boxes.dataset)
        } catch {
            throw CloudError(error, at: place)
        }
    }
}

/// Writes an asset of a sealed zone. The caller passes each member as a sealed box, one in each call; the writer seals the block index
/// itself.
///
/// Bytes that are not a box are refused, so that a programming error cannot store readable content in the zone.
package final class SealedAssetWriter: AssetWriter {
    package let boxes: DatasetBoxes?
    private let wrapped: any AssetWriter
    private let record: String
    private let keys: BoxKeys

    /// - Parameters:
    ///   - record: the record that the asset is made for.
    ///   - keys: the zone's keys.
    package init(_ wrapped: any AssetWriter, record: String, keys: BoxKeys) {
        self.wrapped = wrapped
        self.record = record
        self.keys = keys
        boxes = DatasetBoxes(keys, dataset: record)
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        try requireBox(bytes)
        try wrapped.write(bytes)
    }

    package func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        try requireBox(bytes)
        try wrapped.write(bytes, copying: (other as? SealedAssetReader)?.wrapped ?? other, at: offset)
    }

    package func setIndex(_ index: Data) throws {
        let box: [UInt8]
        do throws(BoxError) {
            box = try keys.seal(index, kind: .index, dataset: record)
        } catch {
            throw CloudError(error, at: "\(CloudNames.assets)/\(record)")
        }
        try wrapped.setIndex(Data(box))
    }

    package func finish(rawByteCount: Int) throws -> CloudAsset { try wrapped.finish(rawByteCount: rawByteCount) }

    package func abandon() { wrapped.abandon() }

    private func requireBox(_ bytes: UnsafeRawBufferPointer) throws {
        guard keys.mayBeBox(bytes) else {
            wrapped.abandon()
            throw CloudError(
                .invalidArguments, at: "\(CloudNames.assets)/\(record)", "the zone is sealed, and these bytes are not; nothing was stored",
                hint: "a sealed zone takes the assets of datasets only")
        }
    }
}

extension AssetReader {
    /// Opens the asset's members; nil if they are not sealed, or if this device has no keys.
    package var boxes: DatasetBoxes? { (self as? SealedAssetReader)?.boxes }
}

extension AssetWriter {
    /// Seals the asset's members; nil if they are not to be sealed.
    package var boxes: DatasetBoxes? {
        if let sealed = self as? SealedAssetWriter { return sealed.boxes }
        return (self as? LimitedAssetWriter)?.boxes
    }
}

extension CloudError {
    /// The error for a box that could not be opened or made.
    package init(_ error: BoxError, at place: String) {
        switch error {
        case .unknownEpoch: self.init(.keyUnavailable, at: place, "\(error)", hint: Self.epochHint)
        case .damaged: self.init(.damaged, at: place, "\(error)", hint: Self.damageHint)
        case .cipher: self.init(.inputOutput, at: place, "\(error)")
        }
    }

    package static let epochHint = "run snapsync sync; if the key is still missing then, have a member that publishes approve this device"
}
