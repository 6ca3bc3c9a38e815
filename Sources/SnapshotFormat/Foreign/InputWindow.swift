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
