/// Bytes in memory of its own, which grows and is used again: what blocks, members and files are made in.
///
/// Memory: what the largest contents so far needed, until ``trim(to:)``. One thread at a time.
package final class ByteBuffer: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner hands a buffer from thread to thread as a whole; no two threads ever
    // hold it at once.

    /// Readable and writable room behind the capacity, so that loops may read and write whole words.
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

    /// The bytes, lent until the buffer is next changed.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Lends the bytes to `body` and keeps the buffer alive while it runs: for a buffer that nobody else holds.
    package func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try withExtendedLifetime(self) { try body(bytes) }
    }

    /// Forgets the contents and keeps the memory.
    package func clear() { count = 0 }

    /// Makes room for `more` bytes behind the contents.
    package func reserve(_ more: Int) {
        if capacity - count < more { grow(count + more) }
    }

    /// Adds bytes at the end.
    package func append(_ more: UnsafeRawBufferPointer) {
        guard let source = more.baseAddress else { return }
        reserve(more.count)
        // SAFETY: reserve made room for more.count bytes, and the source is not this buffer.
        UnsafeMutableRawPointer(base + count).copyMemory(from: source, byteCount: more.count)
        count += more.count
    }

    /// Replaces the contents by `byteCount` bytes that `write` puts into the buffer it is lent.
    package func fill(_ byteCount: Int, _ write: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows {
        clear()
        reserve(byteCount)
        // SAFETY: reserve made room for byteCount bytes.
        try write(UnsafeMutableRawBufferPointer(start: base, count: byteCount))
        count = byteCount
    }

    /// Gives memory back if the buffer has room for more than `limit` bytes; the contents are lost then.
    package func trim(to limit: Int) {
        guard capacity > limit else { return }
        base.deallocate()
        capacity = 0
        count = 0
        base = .allocate(capacity: Self.slack)
    }

    /// Writes zeros behind the contents, so that a loop may look at the byte behind the last one.
    func seal() {
        // SAFETY: the slack lies behind the capacity, and count <= capacity.
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
