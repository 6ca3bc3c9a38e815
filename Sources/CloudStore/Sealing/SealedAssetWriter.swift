package import Foundation
package import Sealing

/// Writes an asset of a sealed zone: takes boxes as members, one in each call, and seals the block index itself.
///
/// What is no box is refused, so that no mistake brings contents into the zone that everybody can read.
package final class SealedAssetWriter: AssetWriter, SealedStream {
    package let boxes: DatasetBoxes?
    private let wrapped: any AssetWriter
    private let record: String
    private let keys: BoxKeys

    /// - Parameters:
    ///   - record: the record that the asset is made for.
    ///   - keys: the zone's.
    package init(_ wrapped: sending any AssetWriter, record: String, keys: BoxKeys) {
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
