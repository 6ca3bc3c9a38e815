import CZlib

private let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
/// More than any input of the fuzzer's length limit can honestly hold.
private let rawLimit = 1 << 18

/// Changes a member's deflate stream, and most of the time puts head and checksums around it that fit what it inflates to.
func change(_ input: [UInt8], _ random: inout FuzzRandom, _ plain: ([UInt8]) -> [UInt8]) -> [UInt8] {
    guard input.count > 18, random.below(8) > 0 else { return plain(input) }
    let stream = plain(Array(input[10..<input.count - 8]))
    let (used, raw) = inflated(stream)
    let sum = UInt32(truncatingIfNeeded: crc32_z(0, raw, raw.count))
    let tail = [sum, UInt32(raw.count)].flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    return header + stream[..<used] + tail
}

/// How much of a stream was used, all of it if it does not end, and what came out.
private func inflated(_ stream: [UInt8]) -> (Int, [UInt8]) {
    var state = z_stream()
    guard inflateInit2_(&state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else { return (stream.count, []) }
    defer { inflateEnd(&state) }
    var input = stream
    return input.withUnsafeMutableBufferPointer { source in
        // SAFETY: zlib reads at most avail_in bytes and writes at most avail_out, and both buffers outlive the call.
        let raw = [UInt8](unsafeUninitializedCapacity: rawLimit) { target, count in
            state.next_in = source.baseAddress
            state.avail_in = UInt32(source.count)
            state.next_out = target.baseAddress
            state.avail_out = UInt32(rawLimit)
            _ = inflate(&state, Z_FINISH)
            count = rawLimit - Int(state.avail_out)
        }
        return (source.count - Int(state.avail_in), raw)
    }
}
