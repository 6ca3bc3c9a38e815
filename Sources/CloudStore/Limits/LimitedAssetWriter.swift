import Foundation

/// An asset writer that stops at a limit.
final class LimitedAssetWriter: AssetWriter {
    private let wrapped: any AssetWriter
    private let limit: Int
    private let place: String
    private var byteCount = 0

    init(_ wrapped: sending any AssetWriter, limit: Int, place: String) {
        self.wrapped = wrapped
        self.limit = limit
        self.place = place
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        try count(bytes)
        try wrapped.write(bytes)
    }

    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws {
        try count(bytes)
        try wrapped.write(bytes, copying: other, at: offset)
    }

    private func count(_ bytes: UnsafeRawBufferPointer) throws {
        guard bytes.count <= limit - byteCount else {
            wrapped.abandon()
            throw CloudError(.limitExceeded, at: place, "the asset has more than \(limit) bytes", hint: "split it into several assets")
        }
        byteCount += bytes.count
    }

    func setIndex(_ index: Data) throws { try wrapped.setIndex(index) }

    func finish(rawByteCount: Int) throws -> CloudAsset { try wrapped.finish(rawByteCount: rawByteCount) }

    func abandon() { wrapped.abandon() }
}
