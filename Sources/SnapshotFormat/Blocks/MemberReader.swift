internal import Foundation
package import Sealing

/// Decrypts and decompresses members, and checks each against its index entry before and after.
///
///     let reader = MemberReader(boxes: asset.boxes)
///     try reader.inflate(bytes, entry: index.blocks[17].member, name: "block 17", into: block.raw)
///
/// Memory: the library's tables, and the length that the entry declares, which is a hard limit. One thread at a time.
package final class MemberReader: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    private let inflater: Inflater
    private let boxes: DatasetBoxes?

    /// Makes a reader; `engine` says which libraries it may use.
    ///
    /// - Parameter boxes: decrypts the members of a sealed zone; nil if they are not encrypted.
    package init(engine: DeflateEngine = .isal, boxes: DatasetBoxes? = nil) {
        inflater = Inflater(engine: engine)
        self.boxes = boxes
    }

    /// Replaces the contents of `buffer` with the member's decompressed bytes.
    ///
    /// Length and hash are checked before anything is decrypted or decompressed. A box must be one that was sealed as a member of this dataset.
    /// Then the member's head and checksum are checked, and that it ends exactly with its input and holds exactly the declared number of bytes.
    ///
    /// - Throws: ``FormatError`` with `.truncated`, `.hashMismatch`, `.damaged` or `.keyUnavailable`, naming `name`.
    package func inflate(
        _ stored: UnsafeRawBufferPointer, entry: MemberEntry, name: @autoclosure () -> String, into buffer: ByteBuffer
    ) throws {
        buffer.clear()
        guard stored.count == entry.length else {
            throw Self.fault(stored.count < entry.length ? .truncated : .damaged, name(), "\(stored.count) bytes instead of \(entry.length)")
        }
        guard ContentHash(of: stored) == entry.sha256 else {
            throw Self.fault(.hashMismatch, name(), "its bytes do not match the hash in the index")
        }
        guard let boxes else { return try inflate(member: stored, entry, name(), into: buffer) }
        let member = try FormatError.opening(name()) { () throws(BoxError) in try boxes.open(stored, kind: .member) }
        try member.withUnsafeBytes { try inflate(member: $0, entry, name(), into: buffer) }
    }

    private func inflate(
        member compressed: UnsafeRawBufferPointer, _ entry: MemberEntry, _ name: @autoclosure () -> String, into buffer: ByteBuffer
    ) throws {
        guard let base = compressed.baseAddress, compressed.count >= FormatLimits.memberBytes, GzipMember.hasHeader(base) else {
            throw Self.fault(.damaged, name(), "it does not begin as a member of version 1 does")
        }
        let bodyLength = compressed.count - GzipMember.headerLength - GzipMember.trailerLength
        guard bodyLength <= Int(UInt32.max), entry.rawLength <= FormatLimits.blockRawBytes else {
            throw Self.fault(.tooLarge, name(), "it declares more than \(FormatLimits.blockRawBytes) bytes")
        }
        buffer.reserve(entry.rawLength)
        let body = UnsafeRawBufferPointer(start: base + GzipMember.headerLength, count: bodyLength)
        switch try inflater.inflate(body, to: buffer.base, length: entry.rawLength) {
        case .done: break
        case .tooLong: throw Self.fault(.damaged, name(), "it holds more than the declared \(entry.rawLength) bytes")
        case .tooShort: throw Self.fault(.damaged, name(), "it holds less than the declared \(entry.rawLength) bytes")
        case .followed: throw Self.fault(.damaged, name(), "something follows its deflate stream")
        case .broken: throw Self.fault(.damaged, name(), "its deflate stream is broken")
        }
        buffer.count = entry.rawLength
        let trailer = base + GzipMember.headerLength + bodyLength
        guard UInt32(littleEndian: trailer.loadUnaligned(as: UInt32.self)) == GzipMember.crc(buffer.bytes),
            UInt32(littleEndian: trailer.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) == UInt32(truncatingIfNeeded: entry.rawLength)
        else {
            buffer.clear()
            throw Self.fault(.damaged, name(), "its checksum or size does not match")
        }
    }

    private static func fault(_ code: FormatError.Code, _ name: String, _ reason: String) -> FormatError {
        FormatError(code, at: name, reason, hint: "fetch the asset again; else have the writer run: snapsync export --full")
    }
}
