import Platform

/// The order of text keys: by their UTF-8 bytes; a prefix comes before the longer key.
enum KeyOrder {
    /// Whether the first key comes strictly before the second.
    @inline(__always)
    static func isAscending(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
        guard let left = first.baseAddress, first.count > 0 else { return second.count > 0 }
        guard let right = second.baseAddress else { return false }
        let order = System.compare(left, right, byteCount: min(first.count, second.count))
        return order < 0 || (order == 0 && first.count < second.count)
    }
}
