public import Foundation

/// Takes the bytes of one new asset, in order. Synchronous: it may be called from any one thread at a time.
public protocol AssetWriter: AnyObject {
    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws
    /// Appends bytes that another asset of the same cloud has at `offset`, where the caller has read and checked them: a cloud that can may
    /// copy them from there. Without an implementation they are written like any others.
    func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws
    /// Sets the block index that will lie beside the asset. At most once, before ``finish(rawByteCount:)``.
    func setIndex(_ index: Data) throws
    /// Makes the asset durable, reads it back, checks its hash, puts it in place, and returns its description.
    func finish(rawByteCount: Int) throws -> CloudAsset
    /// Throws away what was written. Called instead of ``finish(rawByteCount:)``; harmless after it.
    func abandon()
}

extension AssetWriter {
    public func write(_ bytes: UnsafeRawBufferPointer, copying other: any AssetReader, at offset: Int) throws { try write(bytes) }
}

/// Reads one asset at any place. Synchronous and safe to call from several threads at once.
public protocol AssetReader: AnyObject, Sendable {
    /// The asset's size in bytes.
    var byteCount: Int { get }
    /// Fills `buffer` with the asset's bytes from `offset` on. Throws `damaged` if the asset ends before the buffer is full.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws
    /// The block index beside the asset, its size and hash checked; nil if the asset has none.
    func index() throws -> Data?
    /// Whether a block that another asset has, too, is better copied from this one than compressed again. The default says so; it is not so where
    /// reading takes a request to a store that is far away.
    var isBetterCopied: Bool { get }
    /// Says which ranges will be read, ascending: a store that is far away fetches them ahead, adjacent ones together. The default does nothing.
    func expect(_ ranges: [Range<Int>])
}

extension AssetReader {
    public var isBetterCopied: Bool { true }
    public func expect(_ ranges: [Range<Int>]) {}
}
