/// Puts the records of one range of keys after another into key order. Memory: the records, and 16 bytes for each.
package final class RecordSorter {
    private struct Entry {
        let prefix: UInt64
        let offset: UInt32
    }

    private let memory: SortMemory
    private var entries: [Entry] = []

    package init(memory: SortMemory) { self.memory = memory }

    /// Reads the records of a range and sorts them by key.
    ///
    /// - Parameters:
    ///   - byteCount: the length of all records, less than 4 GiB.
    ///   - read: fills a buffer of that length with the records.
    /// - Returns: false if the bytes are no records.
    package func load(_ byteCount: Int, _ read: (UnsafeMutableRawBufferPointer) throws -> Void) rethrows -> Bool {
        memory.reset()
        try memory.buffer.fill(byteCount, read)
        let bytes = memory.buffer.bytes
        entries.removeAll(keepingCapacity: true)
        var offset = 0
        while offset < byteCount {
            guard let end = Self.end(bytes, offset) else { return false }
            entries.append(Entry(prefix: KeyBounds.prefix(Self.key(bytes, offset)), offset: UInt32(offset)))
            offset = end
        }
        entries.sort { left, right in
            guard left.prefix == right.prefix else { return left.prefix < right.prefix }
            return KeyOrder.isAscending(Self.key(bytes, Int(left.offset)), Self.key(bytes, Int(right.offset)))
        }
        return true
    }

    /// Passes the entities of the loaded range on, in key order.
    ///
    /// - Parameter isSingle: whether the dataset's key has one column.
    package func give(to blocks: BlockStream, isSingle: Bool) throws {
        let bytes = memory.buffer.bytes
        for entry in entries {
            let offset = Int(entry.offset)
            // SAFETY: `load` has checked that every record lies within the bytes.
            let key = Self.key(bytes, offset)
            let entity = UnsafeRawBufferPointer(start: bytes.baseAddress! + offset + SortRecord.headerBytes + key.count, count: Self.length(bytes, offset + 4))
            try blocks.take(key: SortKey.key(key, isSingle: isSingle), entity: entity)
        }
    }

    private static func length(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int { Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)) }

    private static func key(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: bytes.baseAddress! + offset + SortRecord.headerBytes, count: length(bytes, offset))
    }

    /// Where the record ends that begins at an offset; nil if it does not end within the bytes.
    private static func end(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int? {
        guard bytes.count - offset >= SortRecord.headerBytes else { return nil }
        let end = offset + SortRecord.headerBytes + length(bytes, offset) + length(bytes, offset + 4)
        return end <= bytes.count && length(bytes, offset) <= FormatLimits.keyBytes + 1 ? end : nil
    }
}
