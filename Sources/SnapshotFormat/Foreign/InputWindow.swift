internal import CZlib

/// A window on a file's text, which is read in pieces: all text that was read but not consumed, in contiguous memory.
///
/// Accepts plain text and gzip with one or more members; the first two bytes tell which. Memory: the text in the window. The caller bounds it,
/// because only the caller requests more.
final class InputWindow {
    /// The number of bytes per read.
    static let pieceBytes = 64 << 10

    private let source: InputSource
    private let buffer = ByteBuffer(capacity: 4 * InputWindow.pieceBytes)
    private var start = 0
    /// The number of bytes of text consumed so far.
    private(set) var offset = 0

    init(read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int) {
        source = InputSource(read: read)
    }

    /// The text in the window, valid until the next call.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: buffer.base + start, count: buffer.count - start) }

    /// Consumes text of the window.
    func consume(_ count: Int) {
        start += count
        offset += count
    }

    /// Reads more text into the window; false at the end of the file.
    func fill() throws -> Bool {
        if start == buffer.count {
            buffer.clear()
            start = 0
        } else if start > 0, buffer.capacity - buffer.count < Self.pieceBytes {
            // SAFETY: both ranges lie in the buffer; update(from:) allows them to overlap.
            buffer.base.update(from: buffer.base + start, count: buffer.count - start)
            buffer.count -= start
            start = 0
        }
        buffer.reserve(Self.pieceBytes)
        let room = UnsafeMutableRawBufferPointer(start: buffer.base + buffer.count, count: Self.pieceBytes)
        let count = try source.read(into: room)
        buffer.count += count
        return count > 0
    }

    /// The next byte that is not white space, without consuming it; nil at the end of the file.
    func peek() throws -> UInt8? {
        while true {
            for (index, byte) in bytes.enumerated() where byte != 0x20 && byte != 0x0A && byte != 0x0D && byte != 0x09 {
                consume(index)
                return byte
            }
            consume(bytes.count)
            guard try fill() else { return nil }
        }
    }
}

/// The text of a plain or gzip file, for any size of the pieces in which the file is read.
///
/// Source: RFC 1952 section 2.2: a gzip file is a series of members. Anything else after a member is refused.
final class InputSource {
    private enum Kind { case unknown, plain, gzip }

    private let readFile: (UnsafeMutableRawBufferPointer) throws -> Int
    private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: InputWindow.pieceBytes, alignment: 16)
    // zlib keeps the stream's address, so the stream is allocated separately. Nil unless the file is gzip.
    private var stream: UnsafeMutablePointer<z_stream>?
    private var position = 0
    private var count = 0
    private var kind = Kind.unknown
    private var isBetweenMembers = true
    private var isAtEnd = false

    init(read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int) { readFile = read }

    deinit {
        if let stream {
            inflateEnd(stream)
            stream.deallocate()
        }
        input.deallocate()
    }

    /// Writes the next piece of the text to `target` and returns its length, 0 at the end.
    func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
        if kind == .unknown { try recognise() }
        return kind == .gzip ? try inflate(into: target) : try copy(into: target)
    }

    private func recognise() throws {
        try fill(atLeast: 2)
        kind = .plain
        guard count >= 2, input[0] == 0x1F, input[1] == 0x8B else { return }
        kind = .gzip
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Adding 16 to the window bits selects gzip only; zlib then checks the header and checksum.
        let status = inflateInit2_(stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard status == Z_OK else {
            stream.deallocate()
            throw FormatError(.compression, at: "file", "zlib failed with status \(status)", hint: "free memory and try again", isRetryable: true)
        }
        self.stream = stream
    }

    private func copy(into target: UnsafeMutableRawBufferPointer) throws -> Int {
        if position == count { try fill(atLeast: 1) }
        let length = min(count - position, target.count)
        target.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[position..<position + length]))
        position += length
        return length
    }

    private func inflate(into target: UnsafeMutableRawBufferPointer) throws -> Int {
        guard let stream else { return 0 }
        while true {
            if isBetweenMembers, try !beginMember(stream) { return 0 }
            if position == count {
                try fill(atLeast: 1)
                guard position < count else {
                    throw FormatError(.truncated, at: "file", "the gzip data ends in the middle", hint: "copy the file again")
                }
            }
            // SAFETY: zlib reads avail_in bytes of the input and writes at most avail_out bytes to the target.
            stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: position)
            stream.pointee.avail_in = UInt32(count - position)
            stream.pointee.next_out = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
            stream.pointee.avail_out = UInt32(target.count)
            let status = CZlib.inflate(stream, Z_NO_FLUSH)
            position = count - Int(stream.pointee.avail_in)
            guard status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR else {
                throw FormatError(.damaged, at: "file", "the gzip data is broken", hint: "copy the file again")
            }
            if status == Z_STREAM_END { isBetweenMembers = true }
            let written = target.count - Int(stream.pointee.avail_out)
            if written > 0 { return written }
        }
    }

    /// Prepares for the next member; false if the file ends here.
    private func beginMember(_ stream: UnsafeMutablePointer<z_stream>) throws -> Bool {
        try fill(atLeast: 2)
        guard position < count else { return false }
        guard count - position >= 2, input[position] == 0x1F, input[position + 1] == 0x8B else {
            throw FormatError(.damaged, at: "file", "something follows the gzip data", hint: "copy the file again")
        }
        inflateReset(stream)
        isBetweenMembers = false
        return true
    }

    /// Reads the file until `wanted` bytes are available or the file ends.
    private func fill(atLeast wanted: Int) throws {
        guard count - position < wanted else { return }
        if position > 0 {
            input.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[position..<count]))
            count -= position
            position = 0
        }
        while count < wanted, !isAtEnd {
            let room = UnsafeMutableRawBufferPointer(rebasing: input[count...])
            let read = try readFile(room)
            guard (0...room.count).contains(read) else {
                throw FormatError(.misuse, at: "file", "the input gave more bytes than were asked for")
            }
            isAtEnd = read == 0
            count += read
        }
    }
}
