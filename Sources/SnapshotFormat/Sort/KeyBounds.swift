package import SnapshotModel

/// The first keys of consecutive ranges; tells in which range a text or encoded key lies.
package struct KeyBounds: Sendable {
    /// The number of ranges.
    package let count: Int
    // The first bytes of each key decide nearly every comparison.
    private let prefixes: [UInt64]
    private let keys: [[UInt8]]

    /// - Parameter starts: the first key of each range but the first, in ascending order. The first range has every key before them.
    package init(_ starts: [EntityKey]) {
        keys = starts.map {
            switch $0 {
            case .text(let bytes), .encoded(let bytes): bytes
            case .integer: preconditionFailure("integer keys need no sort")
            }
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
