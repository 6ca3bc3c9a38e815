internal import CZlib
package import Foundation
package import Sealing
package import SnapshotModel
import StrictText

/// Rebuilds the block index of an undamaged asset.
///
/// The members determine everything except what the columns declare and the mean of the cut rule. The columns come from a description of the
/// dataset, the mean is guessed, and the hash in the commit decides whether the result is right.
package struct IndexRebuilder {
    private let members: [MemberEntry]
    private let blocks: [BlockEntry]
    private let schema: DatasetSchema
    /// The boxes that may have sealed the index, one for each epoch; a single nil if it is not sealed.
    private let epochs: [DatasetBoxes?]

    /// Reads the asset from end to end with a description of its dataset. Memory: the index, and one block.
    ///
    /// - Parameter boxes: decrypts the asset and encrypts its index in a sealed zone.
    /// - Throws: ``SyncError`` if the asset does not fit the description; what `read` throws.
    package init(
        byteCount: Int, schema: DatasetSchema, boxes: DatasetBoxes? = nil, read: @escaping (Int, UnsafeMutableRawBufferPointer) throws -> Void
    ) throws {
        let walk = MemberWalk(byteCount: byteCount, boxes: boxes, read: read)
        let parser = BlockParser(schema: schema)
        var members: [MemberEntry] = []
        var blocks: [BlockEntry] = []
        while let entry = try walk.next() {
            members.append(entry)
            // The first member is the head, and the last one the tail.
            guard members.count > 1, entry.end < byteCount else { continue }
            let block = EntityBlock()
            let number = members.count - 2
            block.raw.append(walk.text.bytes)
            let count = try parser.parse(block, number: number)
            guard let firstKey = block.firstKey else { throw SyncError(format: .damaged, at: "block \(number)", "it has no entity") }
            let separator = number == 0 ? 1 : 2
            let entities = UnsafeRawBufferPointer(rebasing: walk.text.bytes[separator...])
            blocks.append(
                BlockEntry(
                    firstKey: firstKey, count: count,
                    member: MemberEntry(
                        offset: entry.offset, length: entry.length, rawLength: entry.rawLength, sha256: entry.sha256, rawSHA256: ContentHash(of: entities))))
        }
        guard members.count >= 2 else { throw SyncError(format: .truncated, at: schema.name, "it has no tail") }
        self.members = members
        self.blocks = blocks
        self.schema = schema
        epochs = boxes?.allEpochs ?? [nil]
    }

    /// The bytes of the index's file; nil if no mean of the cut rule gives this hash.
    ///
    /// - Parameter guesses: likely means. If the index is small, all others are tried after them.
    package func index(sha256: ContentHash, guesses: [Int]) throws -> Data? {
        func encoded(_ blockEntities: Int) throws -> Data {
            try SnapshotIndex(
                schema: schema, blockEntities: blockEntities, header: members[0], blocks: blocks, tail: members[members.count - 1]
            ).encode()
        }
        func right(_ index: Data) throws -> Data? {
            for boxes in epochs {
                let data = try boxes.map { boxes in Data(try SyncError.opening("block index") { () throws(BoxError) in try boxes.seal(index, kind: .index) })
                }
                let file = data ?? index
                if file.withUnsafeBytes({ ContentHash(of: $0) }) == sha256 { return file }
            }
            return nil
        }
        for guess in guesses where (1...FormatLimits.blockEntities).contains(guess) {
            if let data = try right(encoded(guess)) { return data }
        }
        // Only one number differs, so replace it in the bytes of one index.
        let pattern = try encoded(1)
        let label = Data("\"blockEntities\":1,".utf8)
        guard pattern.count <= Self.smallBytes, let place = pattern.firstRange(of: label) else { return nil }
        for mean in 1...FormatLimits.blockEntities {
            var data = pattern
            data.replaceSubrange(place, with: Data("\"blockEntities\":\(mean),".utf8))
            if let data = try right(data) { return data }
        }
        return nil
    }

    /// The maximum size of an index, in bytes, for which every mean is tried.
    private static let smallBytes = 64 << 10
}

/// Reads a file's gzip members in sequence without an index: the contents, position and hashes of each.
///
/// Use it only for a file whose bytes are known to be right: it checks the framing, but there are no declared lengths or hashes to check
/// against. Memory: one member, compressed and decompressed, each at most ``FormatLimits/blockRawBytes``.
package final class MemberWalk {
    private let byteCount: Int
    private let boxes: DatasetBoxes?
    private let read: (Int, UnsafeMutableRawBufferPointer) throws -> Void
    private var offset = 0
    /// The contents of the last member.
    package let text = ByteBuffer()

    /// - Parameters:
    ///   - boxes: decrypts the members of a sealed zone.
    ///   - read: fills the buffer with the file's bytes from an offset on, or throws.
    package init(byteCount: Int, boxes: DatasetBoxes? = nil, read: @escaping (Int, UnsafeMutableRawBufferPointer) throws -> Void) {
        (self.byteCount, self.boxes, self.read) = (byteCount, boxes, read)
    }

    /// Decompresses the next member into ``text``; nil at the end of the file.
    ///
    /// - Returns: the member's position and hashes. `rawSHA256` is the hash of all of ``text``.
    /// - Throws: ``SyncError`` with `.truncated` or `.damaged`; what `read` throws.
    package func next() throws -> MemberEntry? {
        guard offset < byteCount else { return nil }
        var length = min(byteCount - offset, 1 << 16)
        let stored = ByteBuffer()
        while true {
            try stored.fill(length) { try read(offset, $0) }
            if let used = try boxes.map({ try inflateBox(stored, $0) }) ?? inflate(stored.bytes) {
                let bytes = UnsafeRawBufferPointer(rebasing: stored.bytes[..<used])
                defer { offset += used }
                return withExtendedLifetime(stored) {
                    MemberEntry(offset: offset, length: used, rawLength: text.count, sha256: ContentHash(of: bytes), rawSHA256: ContentHash(of: text.bytes))
                }
            }
            // The member's end is not in the bytes read so far, so read twice as much and decompress again.
            guard length < byteCount - offset, length <= FormatLimits.blockRawBytes else { throw fault(.truncated, "a member does not end") }
            length = min(byteCount - offset, length * 2)
        }
    }

    /// Decrypts and decompresses a box at the beginning of `stored`. Returns the box's length; nil if its end is not in `stored`.
    ///
    /// A box does not state its length. It ends at the end of the file or where the next box begins, with the number of an epoch. That it can be
    /// decrypted proves the right end.
    private func inflateBox(_ stored: ByteBuffer, _ boxes: DatasetBoxes) throws -> Int? {
        let bytes = stored.bytes
        let isAll = offset + stored.count == byteCount
        for end in stride(from: BoxKeys.overhead, through: bytes.count, by: 1) {
            guard end == bytes.count ? isAll : end + 4 <= bytes.count && boxes.keys.namesEpoch(bytes, at: end) else { continue }
            guard let member = try? boxes.open(UnsafeRawBufferPointer(rebasing: bytes[..<end]), kind: .member) else { continue }
            guard try member.withUnsafeBytes({ try inflate($0) }) == member.count else { throw fault(.damaged, "something follows a member in its box") }
            return end
        }
        guard !isAll else { throw fault(.damaged, "no box of this dataset begins here") }
        return nil
    }

    /// Decompresses a member at the beginning of `compressed`. Returns its length; nil if its end is not in `compressed`.
    private func inflate(_ compressed: UnsafeRawBufferPointer) throws -> Int? {
        guard let base = compressed.baseAddress, compressed.count >= FormatLimits.memberBytes, GzipMember.hasHeader(base) else {
            throw fault(.damaged, "a member does not begin as one of version 1 does")
        }
        var stream = z_stream()
        guard inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw SyncError(format: .outOfMemory, at: "decompression", "zlib has no memory", hint: "free memory and try again")
        }
        defer { inflateEnd(&stream) }
        text.clear()
        // SAFETY: zlib reads at most avail_in bytes of the input and does not write it. It writes at most avail_out bytes after the contents of
        // `text`, which has room for them.
        stream.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: UInt8.self) + GzipMember.headerLength)
        stream.avail_in = UInt32(compressed.count - GzipMember.headerLength)
        while true {
            let room = 1 << 18
            text.reserve(room)
            stream.next_out = text.base + text.count
            stream.avail_out = UInt32(room)
            let status = CZlib.inflate(&stream, Z_NO_FLUSH)
            text.count += room - Int(stream.avail_out)
            guard text.count <= FormatLimits.tailRawBytes + FormatLimits.fullBlockBytes else { throw fault(.tooLarge, "a member holds more than any may") }
            if status == Z_STREAM_END { break }
            if stream.avail_in == 0 { return nil }
            guard status == Z_OK || status == Z_BUF_ERROR else { throw fault(.damaged, "a member's deflate stream is broken") }
        }
        guard Int(stream.avail_in) >= GzipMember.trailerLength else { return nil }
        return compressed.count - Int(stream.avail_in) + GzipMember.trailerLength
    }

    private func fault(_ code: SyncError.FormatFault, _ reason: String) -> SyncError { SyncError(format: code, at: "byte \(offset)", reason) }
}
