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
    package var isBetterCopied: Bool { wrapped.isBetterCopied }
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
