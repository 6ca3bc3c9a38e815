package import SnapshotModel

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
    package func send(to blocks: BlockStream, isSingle: Bool) throws {
        let bytes = memory.buffer.bytes
        for entry in entries {
            let offset = Int(entry.offset)
            // SAFETY: `load` has checked that every record lies within the bytes.
            let key = Self.key(bytes, offset)
            let entity = UnsafeRawBufferPointer(start: bytes.baseAddress! + offset + SortRecord.headerBytes + key.count, count: Self.length(bytes, offset + 4))
            try blocks.append(key: SortKey.key(key, isSingle: isSingle), entity: entity)
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

/// The first keys of consecutive ranges; tells in which range a key lies (``SortKey``).
package struct KeyBounds: Sendable {
    /// The number of ranges.
    package let count: Int
    // The first bytes of each key decide nearly every comparison.
    private let prefixes: [UInt64]
    private let keys: [[UInt8]]

    /// - Parameter starts: the first key of each range but the first, in ascending order. The first range has every key before them.
    package init(_ starts: [EntityKey]) {
        keys = starts.map { key in
            var bytes: [UInt8] = []
            key.lend { SortKey.append($0, to: &bytes) }
            return bytes
        }
        prefixes = keys.map { $0.withUnsafeBytes(Self.prefix) }
        count = keys.count + 1
    }

    /// The range that the key lies in, from 0.
    func range(of key: UnsafeRawBufferPointer) -> Int {
        let prefix = Self.prefix(key)
        var low = 0, high = keys.count
        while low < high {
            let middle = (low + high) / 2
            let isAfter = prefixes[middle] == prefix ? keys[middle].withUnsafeBytes { KeyOrder.isAscending(key, $0) } : prefix < prefixes[middle]
            if isAfter { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The first eight bytes as a number that has their order; a shorter key is filled up with zeros.
    @inline(__always)
    static func prefix(_ key: UnsafeRawBufferPointer) -> UInt64 {
        if key.count >= 8 { return UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)) }
        return (0..<8).reduce(0) { $0 << 8 | UInt64($1 < key.count ? key[$1] : 0) }
    }
}

/// The bytes of a key in a record of an external sort. They have the order of the keys of one dataset.
///
/// A text is its bytes after the tag of texts; any other key is encoded.
enum SortKey {
    private static let text: UInt8 = 0x20

    static func append(_ key: LentKey, to bytes: inout [UInt8]) {
        switch key {
        case .text(let text):
            bytes.append(Self.text)
            bytes.append(contentsOf: text)
        case .integer(let value): EncodedKey.append(.integer(value), .binary, to: &bytes)
        case .encoded(let encoded): bytes.append(contentsOf: encoded)
        }
    }

    /// The key of these bytes, which lends them.
    ///
    /// - Parameter isSingle: whether the dataset's key has one column.
    static func key(_ bytes: UnsafeRawBufferPointer, isSingle: Bool) -> LentKey {
        guard isSingle else { return .encoded(bytes) }
        if bytes.first == text { return .text(UnsafeRawBufferPointer(rebasing: bytes.dropFirst())) }
        if let values = EncodedKey.values(of: Array(bytes)), case .integer(let value)? = values.first { return .integer(value) }
        return .encoded(bytes)
    }
}
