/// Appends to a buffer and keeps its ends in local variables, because each access to a class's property has a runtime check.
///
///     var cursor = ByteCursor(buffer)
///     cursor.append(UInt8(ascii: "["))
///     cursor.finish()
struct ByteCursor {
    var at: UnsafeMutablePointer<UInt8>
    private var limit: UnsafeMutablePointer<UInt8>
    private let buffer: ByteBuffer

    @inline(__always)
    init(_ buffer: ByteBuffer) {
        self.buffer = buffer
        at = buffer.base + buffer.count
        limit = buffer.base + buffer.capacity
    }

    /// Sets the buffer's count to what was written.
    @inline(__always)
    func finish() { buffer.count = at - buffer.base }

    /// The number of bytes written to the buffer.
    var position: Int { at - buffer.base }

    /// Removes everything after a position.
    mutating func cut(to position: Int) { at = buffer.base + position }

    /// Makes room for `count` bytes, in addition to the buffer's slack.
    @inline(__always)
    mutating func reserve(_ count: Int) {
        if limit - at < count { grow(count) }
    }

    @inline(never)
    private mutating func grow(_ count: Int) {
        finish()
        buffer.reserve(count)
        at = buffer.base + buffer.count
        limit = buffer.base + buffer.capacity
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        at.pointee = byte
        at += 1
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        // SAFETY: there is room for bytes.count bytes, and the source is not this buffer.
        UnsafeMutableRawPointer(at).copyMemory(from: source, byteCount: bytes.count)
        at += bytes.count
    }

    mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends `length` bytes in whole words. Bytes beyond `length` go into the slack and are overwritten later.
    @inline(__always)
    mutating func append(words: UnsafePointer<UInt64>, length: Int) {
        reserve(length)
        var offset = 0
        while offset < length {
            // SAFETY: at + length lies within the capacity, and the rest of the last word within the slack of 32 bytes.
            UnsafeMutableRawPointer(at + offset).storeBytes(of: words[offset >> 3], as: UInt64.self)
            offset += 8
        }
        at += length
    }
}
