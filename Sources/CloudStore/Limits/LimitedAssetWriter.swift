package import Foundation
package import Sealing

/// An asset writer with a size limit. If the limit is exceeded, it abandons the asset, so that nothing is stored.
package final class LimitedAssetWriter: AssetWriter {
    private let wrapped: any AssetWriter
    private let exceeded: any Error
    private var room: Int

    /// - Parameters:
    ///   - limit: the largest asset, in bytes.
    ///   - exceeded: the error that is thrown for a larger asset.
    package init(_ wrapped: any AssetWriter, limit: Int, exceeded: any Error) {
        self.wrapped = wrapped
        self.exceeded = exceeded
        room = limit
    }

    package var boxes: DatasetBoxes? { wrapped.boxes }

    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        try count(bytes)
        try wrapped.write(bytes)
    }

    package func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        try count(bytes)
        try wrapped.write(bytes, copying: other, at: offset)
    }

    private func count(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= room else {
            wrapped.abandon()
            throw exceeded
        }
        room -= bytes.count
    }

    package func setIndex(_ index: Data) throws { try wrapped.setIndex(index) }

    package func finish(rawByteCount: Int) throws -> CloudAsset { try wrapped.finish(rawByteCount: rawByteCount) }

    package func abandon() { wrapped.abandon() }
}
