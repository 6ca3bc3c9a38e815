internal import CZlib
internal import Foundation
package import Sealing
import StrictText

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
    /// - Throws: ``SyncError`` with `.truncated`, `.hashMismatch`, `.damaged` or `.keyUnavailable`, naming `name`.
    package func inflate(
        _ stored: UnsafeRawBufferPointer, entry: MemberEntry, name: @autoclosure () -> String, into buffer: ByteBuffer
    ) throws {
        buffer.clear()
        guard stored.count == entry.length else {
            throw Self.fault(stored.count < entry.length ? .truncated : .damaged, at: name(), "\(stored.count) bytes instead of \(entry.length)")
        }
        guard ContentHash(of: stored) == entry.sha256 else {
            throw Self.fault(.hashMismatch, at: name(), "its bytes do not match the hash in the index")
        }
        guard let boxes else { return try inflate(member: stored, entry, name(), into: buffer) }
        let member = try SyncError.opening(name()) { () throws(BoxError) in try boxes.open(stored, kind: .member) }
        try member.withUnsafeBytes { try inflate(member: $0, entry, name(), into: buffer) }
    }

    private func inflate(
        member compressed: UnsafeRawBufferPointer, _ entry: MemberEntry, _ name: @autoclosure () -> String, into buffer: ByteBuffer
    ) throws {
        guard let base = compressed.baseAddress, compressed.count >= FormatLimits.memberBytes, GzipMember.hasHeader(base) else {
            throw Self.fault(.damaged, at: name(), "it does not begin as a member of version 1 does")
        }
        let bodyLength = compressed.count - GzipMember.headerLength - GzipMember.trailerLength
        guard bodyLength <= Int(UInt32.max), entry.rawLength <= FormatLimits.blockRawBytes else {
            throw Self.fault(.tooLarge, at: name(), "it declares more than \(FormatLimits.blockRawBytes) bytes")
        }
        buffer.reserve(entry.rawLength)
        let body = UnsafeRawBufferPointer(start: base + GzipMember.headerLength, count: bodyLength)
        switch try inflater.inflate(body, to: buffer.base, length: entry.rawLength) {
        case .done: break
        case .tooLong: throw Self.fault(.damaged, at: name(), "it holds more than the declared \(entry.rawLength) bytes")
        case .tooShort: throw Self.fault(.damaged, at: name(), "it holds less than the declared \(entry.rawLength) bytes")
        case .followed: throw Self.fault(.damaged, at: name(), "something follows its deflate stream")
        case .broken: throw Self.fault(.damaged, at: name(), "its deflate stream is broken")
        }
        buffer.count = entry.rawLength
        let trailer = base + GzipMember.headerLength + bodyLength
        guard UInt32(littleEndian: trailer.loadUnaligned(as: UInt32.self)) == GzipMember.crc(buffer.bytes),
            UInt32(littleEndian: trailer.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) == UInt32(truncatingIfNeeded: entry.rawLength)
        else {
            buffer.clear()
            throw Self.fault(.damaged, at: name(), "its checksum or size does not match")
        }
    }

    private static func fault(_ code: SyncError.FormatFault, at name: String, _ reason: String) -> SyncError {
        SyncError(format: code, at: name, reason, hint: "fetch the asset again; else have the writer run: snapsync export --full")
    }
}

/// Decompresses deflate streams of known length.
///
/// Memory: zlib's 40 KiB, or ISA-L's 90 KiB. One thread at a time.
final class Inflater {
    private let engine: DeflateEngine
    private var zlib: ZlibInflater?
    #if canImport(CIsal)
        private lazy var isal = IsalInflater()
    #endif

    init(engine: DeflateEngine) { self.engine = engine }

    /// Decompresses `input` to `target`, which must have room for `length` bytes. Never writes more than that.
    ///
    /// Both lengths must be below 2^32.
    ///
    /// - Throws: ``SyncError`` with `.compression` if memory is short.
    func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
        #if canImport(CIsal)
            if engine == .isal { return isal.inflate(input, to: target, length: length) }
        #endif
        let zlib = try self.zlib ?? ZlibInflater()
        self.zlib = zlib
        return try zlib.inflate(input, to: target, length: length)
    }
}

private final class ZlibInflater {
    // zlib keeps the stream's address, so the stream is allocated separately.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let status = inflateInit2_(stream, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw Self.memoryFault(status)
        }
        // Assigned last: an initializer that throws after all properties are set runs deinit, which would free the stream again.
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    func inflate(_ input: UnsafeRawBufferPointer, to target: UnsafeMutablePointer<UInt8>, length: Int) throws -> InflateOutcome {
        let status = inflateReset(stream)
        guard status == Z_OK else { throw Self.memoryFault(status) }
        // SAFETY: zlib only reads the input, and writes at most avail_out bytes, which `target` has room for.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(input.count)
        stream.pointee.next_out = target
        stream.pointee.avail_out = UInt32(length)
        switch CZlib.inflate(stream, Z_FINISH) {
        case Z_STREAM_END: return stream.pointee.avail_in > 0 ? .followed : stream.pointee.avail_out > 0 ? .tooShort : .done
        case Z_MEM_ERROR: throw Self.memoryFault(Z_MEM_ERROR)
        case Z_BUF_ERROR where stream.pointee.avail_out == 0: return .tooLong
        default: return .broken
        }
    }

    private static func memoryFault(_ status: Int32) -> SyncError {
        SyncError(format: .outOfMemory, at: "decompression", "zlib failed with status \(status)", hint: "free memory and try again")
    }
}

/// How the decompression of one deflate stream ended.
enum InflateOutcome: Equatable {
    /// The stream ended with the input, and the output has exactly the declared length.
    case done
    /// The stream holds more than the declared length.
    case tooLong
    /// The stream holds less than the declared length.
    case tooShort
    /// Input follows the stream.
    case followed
    /// The input is no deflate stream, or it is truncated.
    case broken
}
