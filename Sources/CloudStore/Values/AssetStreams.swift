public import Foundation

/// Receives the bytes of one new asset, in order. Its calls are synchronous; they may come from any thread, but only from one at a time.
public protocol AssetWriter: AnyObject {
    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Appends bytes that `other`, an asset of the same cloud, has at `offset`. The caller has read and checked them there, so a cloud that
    /// supports it may copy them instead of uploading them. The default writes them like any other bytes.
    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws
    /// Sets the block index that is stored beside the asset. At most once, before ``finish(rawByteCount:)``.
    func setIndex(_ index: Data) throws
    /// Makes the asset durable, reads it back, checks its hash, gives it its name, and returns its description.
    func finish(rawByteCount: Int) throws -> CloudAsset
    /// Discards what was written. Called instead of ``finish(rawByteCount:)``; harmless after it.
    func abandon()
}

extension AssetWriter {
    public func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws { try write(bytes) }
}

/// Reads one asset at any offset. Its calls are synchronous and may come from several threads at once.
public protocol AssetReader: AnyObject, Sendable {
    /// The asset's size in bytes.
    var byteCount: Int { get }
    /// Fills `buffer` with the asset's bytes from `offset` on. Throws `damaged` if the asset ends before the buffer is full.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
    /// The block index beside the asset, after checking its size and hash; nil if the asset has none.
    func index() throws -> Data?
    /// Announces the ranges that will be read, in ascending order. A remote store prefetches them and merges adjacent ones. The default does
    /// nothing.
    func expect(_ ranges: [Range<Int>])
}

extension AssetReader {
    public func expect(_ ranges: [Range<Int>]) {}
}

extension CloudAssetIndex {
    /// Refuses bytes that are not the index that the commit names.
    ///
    /// - Throws: ``CloudError`` with `.damaged` at `place`.
    package func verify(_ bytes: [UInt8], at place: String) throws(CloudError) {
        guard bytes.count == byteCount, ContentHash.of(bytes) == sha256 else {
            throw CloudError(.damaged, at: place, "the block index does not match its hash", hint: CloudError.damageHint)
        }
    }
}
