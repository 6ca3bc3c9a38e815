package import SnapshotModel

/// A gzip member and what an index says of it, its place excepted. Moves between threads, one at a time.
package final class CompressedMember: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): a member has one owner at a time, who hands it on as a whole.

    let buffer = ByteBuffer()
    var entry = MemberEntry(
        offset: 0, length: 0, rawLength: 0, sha256: ContentHash(of: .init(start: nil, count: 0)), rawSHA256: ContentHash(of: .init(start: nil, count: 0)))

    /// Makes an empty member, for a compressor to fill.
    package init() {}

    /// The member's bytes in the file, lent until the member is used again.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }
}

/// A compressed block, on the way from the compressor to the file.
package struct CompressedBlock: Sendable {
    /// The bytes; a compressor can use them again once they are written.
    package let member: CompressedMember
    /// What the index will say of the block, with offset 0.
    package let entry: BlockEntry
    /// The last entity's key, for the check of the order across blocks.
    package let lastKey: EntityKey
    /// Whether it was compressed as the file's first block, whose leading separator is a different one.
    package let isFirst: Bool

    /// The bytes in the file, lent until the member is used again.
    package var bytes: UnsafeRawBufferPointer { member.bytes }
}
