package import Foundation

/// An asset that is being written: its name, its block index, and the hash and the size of its bytes so far. For writers of a backend.
package struct AssetDraft {
    package let path: AssetPath
    package private(set) var index: Data?
    package private(set) var byteCount = 0
    private var hash = ContentHash()
    private var isEnded = false

    package init(_ path: AssetPath) { self.path = path }

    /// Refuses every call after the last one.
    package func verifyOpen() throws(CloudError) {
        if isEnded { throw CloudError(.invalidArguments, at: path.path, "the asset is finished or was abandoned") }
    }

    /// Counts and hashes bytes that are written.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) throws(CloudError) {
        try verifyOpen()
        hash.update(bytes)
        byteCount += bytes.count
    }

    /// Takes the block index.
    ///
    /// - Parameter place: the index in messages to people; nil stands for its path.
    package mutating func setIndex(_ index: Data, at place: String? = nil) throws(CloudError) {
        try verifyOpen()
        guard self.index == nil, index.count <= CloudRecord.indexByteLimit else {
            throw CloudError(.invalidArguments, at: place ?? path.indexPath, "a second index, or one of more than \(CloudRecord.indexByteLimit) bytes")
        }
        self.index = index
    }

    /// Marks the asset as finished or abandoned.
    package mutating func end() { isEnded = true }

    /// The description of the asset for its commit.
    package func asset(rawByteCount: Int) -> CloudAsset {
        CloudAsset(path: path.path, byteCount: byteCount, rawByteCount: rawByteCount, sha256: hash.hex, index: index.map(CloudAssetIndex.init(of:)))
    }

    /// The error when a file of the asset finds its name taken. The name contains eight random digits, so this hardly ever happens.
    ///
    /// - Parameter kind: what the store calls its files.
    package static func isTaken(at place: String, kind: String = "an object") -> CloudError {
        CloudError(.inputOutput, at: place, "\(kind) of that name is there already", hint: "try again", isRetryable: true)
    }
}

extension CloudAssetIndex {
    /// The description of an index.
    package init(of bytes: Data) { self.init(byteCount: bytes.count, sha256: ContentHash.of(bytes)) }
}

extension AssetReader {
    /// Refuses to read beyond the end of the asset.
    ///
    /// - Parameter place: the asset in messages to people.
    package func verifyRange(of count: Int, at offset: Int, in place: @autoclosure () -> String) throws(CloudError) {
        guard offset >= 0, offset <= byteCount, count <= byteCount - offset else {
            throw CloudError(.damaged, at: place(), "bytes beyond the end were asked for: the index or the file is damaged")
        }
    }
}
