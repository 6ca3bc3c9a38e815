/// A growable, reusable byte buffer, in which blocks, members and files are built.
///
/// Memory: as much as the largest contents needed, until ``trim(to:)``. One thread at a time.
package final class ByteBuffer: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner passes a buffer from thread to thread as a whole; two threads never use it at once.

    /// Readable and writable bytes beyond the capacity, so that loops may access whole words.
    static let slack = 32

    private(set) var base: UnsafeMutablePointer<UInt8>
    private(set) var capacity: Int
    /// The number of bytes held.
    package internal(set) var count = 0

    /// Makes an empty buffer with room for `capacity` bytes.
    package init(capacity: Int = 0) {
        self.capacity = capacity
        self.base = .allocate(capacity: capacity + Self.slack)
    }

    deinit { base.deallocate() }

    /// The bytes, valid until the buffer is next changed.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Passes the bytes to `body` and keeps the buffer alive meanwhile; for a buffer without other references.
    package func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(bytes) }
    }

    /// Removes the contents and keeps the memory.
    package func clear() { count = 0 }

    /// Makes room for `more` bytes after the contents.
    package func reserve(_ more: Int) {
        if capacity - count < more { grow(count + more) }
    }

    /// Adds bytes at the end.
    package func append(_ more: UnsafeRawBufferPointer) {
        guard let source = more.baseAddress else { return }
        reserve(more.count)
        // SAFETY: reserve has made room for more.count bytes, and the source is not this buffer.
        UnsafeMutableRawPointer(base + count).copyMemory(from: source, byteCount: more.count)
        count += more.count
    }

    /// Replaces the contents with `byteCount` bytes, which `write` puts into the buffer that it gets.
    package func fill(_ byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        clear()
        reserve(byteCount)
        // SAFETY: reserve has made room for byteCount bytes.
        try write(UnsafeMutableRawBufferPointer(start: base, count: byteCount))
        count = byteCount
    }

    /// Frees memory if the capacity is more than `limit` bytes. The contents are lost then.
    package func trim(to limit: Int) {
        guard capacity > limit else { return }
        base.deallocate()
        capacity = 0
        count = 0
        base = .allocate(capacity: Self.slack)
    }

    /// Writes zeros after the contents, so that a loop may read the byte after the last one.
    func seal() {
        // SAFETY: the slack follows the capacity, and count <= capacity.
        UnsafeMutableRawPointer(base + count).initializeMemory(as: UInt8.self, repeating: 0, count: Self.slack)
    }

    @inline(never)
    private func grow(_ needed: Int) {
        let larger = max(needed, capacity * 2, 4096)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger + Self.slack)
        memory.update(from: base, count: count)
        base.deallocate()
        base = memory
        capacity = larger
    }
}
