/// The key of the cut rule in a sealed zone: SipHash-2-4 of a row's key, so that block sizes do not reveal to outsiders which keys exist.
///
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012; docs/sealed.md, "The cut rule".
package struct CutKey: Sendable, Equatable {
    private let low: UInt64
    private let high: UInt64

    /// The key from 16 bytes; nil for any other number of bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        low = bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        high = bytes.suffix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// SipHash-2-4 of some bytes.
    package func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        var state = State(
            v0: low ^ 0x736F_6D65_7073_6575, v1: high ^ 0x646F_7261_6E64_6F6D, v2: low ^ 0x6C79_6765_6E65_7261, v3: high ^ 0x7465_6462_7974_6573)
        let wordsEnd = bytes.count & ~7
        var offset = 0
        while offset < wordsEnd {
            state.absorb(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for position in offset..<bytes.count { last |= UInt64(bytes[position]) << (8 * UInt64(position - offset)) }
        state.absorb(last)
        state.v2 ^= 0xFF
        for _ in 0..<4 { state.round() }
        return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }

    private struct State {
        var v0, v1, v2, v3: UInt64

        @inline(__always)
        mutating func absorb(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        @inline(__always)
        mutating func round() {
            v0 = v0 &+ v1
            v1 = (v1 << 13 | v1 >> 51) ^ v0
            v0 = v0 << 32 | v0 >> 32
            v2 = v2 &+ v3
            v3 = (v3 << 16 | v3 >> 48) ^ v2
            v0 = v0 &+ v3
            v3 = (v3 << 21 | v3 >> 43) ^ v0
            v2 = v2 &+ v1
            v1 = (v1 << 17 | v1 >> 47) ^ v2
            v2 = v2 << 32 | v2 >> 32
        }
    }
}

extension CutKey: CustomStringConvertible, CustomReflectable {
    /// A fixed text, without the key.
    package var description: String { "cut key" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
