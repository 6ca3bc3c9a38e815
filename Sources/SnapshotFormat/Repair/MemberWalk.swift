internal import CZlib
internal import Foundation
package import Sealing

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
        self.byteCount = byteCount
        self.boxes = boxes
        self.read = read
    }

    /// Decompresses the next member into ``text``; nil at the end of the file.
    ///
    /// - Returns: the member's position and hashes. `rawSHA256` is the hash of all of ``text``.
    /// - Throws: ``FormatError`` with `.truncated` or `.damaged`; what `read` throws.
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
            throw FormatError(.compression, at: "decompression", "zlib has no memory", hint: "free memory and try again", isRetryable: true)
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

    private func fault(_ code: FormatError.Code, _ reason: String) -> FormatError { FormatError(code, at: "byte \(offset)", reason) }
}
