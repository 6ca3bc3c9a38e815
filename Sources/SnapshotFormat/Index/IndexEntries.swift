package import SnapshotModel

/// The index entry of one gzip member: its position and length in the file, and the hashes of its bytes.
package struct MemberEntry: Hashable, Sendable {
    /// The member's offset in the file, in bytes.
    package let offset: Int
    /// The member's length in the file, in bytes.
    package let length: Int
    /// The length of the decompressed member, in bytes.
    package let rawLength: Int
    /// The hash of the member's bytes in the file.
    package let sha256: ContentHash
    /// The hash of the decompressed member; for a block, without the separator before its first entity.
    package let rawSHA256: ContentHash

    /// Describes a member.
    package init(offset: Int, length: Int, rawLength: Int, sha256: ContentHash, rawSHA256: ContentHash) {
        self.offset = offset
        self.length = length
        self.rawLength = rawLength
        self.sha256 = sha256
        self.rawSHA256 = rawSHA256
    }

    /// The offset of the first byte after the member.
    package var end: Int { offset + length }

    /// The same member at another offset.
    func moved(to offset: Int) -> MemberEntry {
        MemberEntry(offset: offset, length: length, rawLength: rawLength, sha256: sha256, rawSHA256: rawSHA256)
    }
}

/// The index entry of one block.
package struct BlockEntry: Hashable, Sendable {
    /// The key of the block's first entity.
    package let firstKey: EntityKey
    /// The number of entities, at least 1.
    package let count: Int
    /// The member that holds the block.
    package let member: MemberEntry

    /// Describes a block.
    package init(firstKey: EntityKey, count: Int, member: MemberEntry) {
        self.firstKey = firstKey
        self.count = count
        self.member = member
    }
}
