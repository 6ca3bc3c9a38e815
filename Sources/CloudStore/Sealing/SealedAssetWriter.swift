package import Foundation
package import Sealing

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
