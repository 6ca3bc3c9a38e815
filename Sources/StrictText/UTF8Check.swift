/// Checks that bytes are UTF-8, as Unicode 16 table 3-7 says: no overlong forms, no surrogates, nothing beyond U+10FFFF.
package enum UTF8Check {
    /// Returns the offset of the first byte that is not part of UTF-8, or nil.
    package static func firstFault(in bytes: UnsafeRawBufferPointer) -> Int? {
        var position = asciiEnd(bytes, 0)
        guard position < bytes.count else { return nil }
        // SAFETY: the span does not outlive this call, in which the caller lends the buffer.
        let rest = UnsafeBufferPointer(rebasing: bytes.assumingMemoryBound(to: UInt8.self)[position...])
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: rest.span)
            return nil
        } catch {
            position += error.byteOffsets.lowerBound
            return position
        }
    }

    @inline(__always)
    private static func asciiEnd(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var position = start
        while position + 8 <= bytes.count, bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0 {
            position += 8
        }
        while position < bytes.count, bytes[position] < 0x80 { position += 1 }
        return position
    }
}
