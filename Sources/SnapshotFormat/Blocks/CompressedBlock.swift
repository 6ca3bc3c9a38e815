package import SnapshotModel

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
    /// The bytes; a compressor can reuse their memory once they are written.
    package let member: CompressedMember
    /// The index entry of the block, with offset 0.
    package let entry: BlockEntry
    /// The last entity's key, to check the order across blocks.
    package let lastKey: EntityKey
    /// Whether it was compressed as the file's first block, which has a different leading separator.
    package let isFirst: Bool

    /// The bytes in the file, valid until the member is reused.
    package var bytes: UnsafeRawBufferPointer { member.bytes }
}
