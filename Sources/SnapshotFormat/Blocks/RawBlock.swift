package import SnapshotModel

/// A block's entities as canonical JSON, between the encoder and the compressor.
///
/// Layout: `{…},\n{…},\n{…}`, without the separator before the first entity, so that the bytes do not depend on the block's position in the
/// file. Reusable; moves between threads, one at a time.
package final class RawBlock: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): a block has one owner at a time, which passes it on as a whole.

    let buffer = ByteBuffer()
    /// The number of entities.
    package internal(set) var count = 0
    /// The first entity's key; nil if the block is empty.
    package internal(set) var firstKey: EntityKey?
    /// The last entity's key; nil until the block is complete.
    package internal(set) var lastKey: EntityKey?
    private var knownHash: ContentHash?

    /// Makes an empty block.
    package init() {}

    /// The entities' bytes, valid until the block is recycled.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }

    /// Whether the next entity must begin a new block, whatever its key.
    package var isFull: Bool { buffer.count >= FormatLimits.fullBlockBytes }

    /// The SHA-256 of ``bytes``, computed at the first call: equal to an index entry's `rawSHA256` if the block is unchanged.
    package var rawSHA256: ContentHash {
        if let knownHash { return knownHash }
        let hash = ContentHash(of: buffer.bytes)
        knownHash = hash
        return hash
    }

    /// Empties the block for reuse. Frees the buffer if an unusually large entity has enlarged it.
    func clear() {
        buffer.clear()
        buffer.trim(to: 4 << 20)
        count = 0
        firstKey = nil
        lastKey = nil
        knownHash = nil
    }
}

/// A gzip member and its index entry, except for its offset. Moves between threads, one at a time.
package final class CompressedMember: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): a member has one owner at a time, which passes it on as a whole.

    let buffer = ByteBuffer()
    var entry = MemberEntry(
        offset: 0, length: 0, rawLength: 0, sha256: ContentHash(of: .init(start: nil, count: 0)), rawSHA256: ContentHash(of: .init(start: nil, count: 0)))

    /// Makes an empty member, which a compressor fills.
    package init() {}

    /// The member's bytes in the file, valid until the member is reused.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }
}

/// A compressed block, on the way from the compressor to the file.
package struct CompressedBlock: Sendable {
    package let member: CompressedMember
    /// The index entry of the block, with offset 0.
    package let entry: BlockEntry
    /// The last entity's key, to check the order across blocks.
    package let lastKey: EntityKey
    /// Whether it was compressed as the file's first block, which has a different leading separator.
    package let isFirst: Bool

    /// The bytes in the file.
    package var bytes: UnsafeRawBufferPointer { member.bytes }
}
