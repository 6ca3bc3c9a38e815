/// libFuzzer's own way to change an input.
@_silgen_name("LLVMFuzzerMutate")
private func mutateBytes(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int) -> Int

/// What libFuzzer calls for each new input. Every kind of input has one `change(_:_:_:)`, which changes it so that it gets behind
/// the first check; its last argument is libFuzzer's own way.
@_cdecl("LLVMFuzzerCustomMutator")
public func fuzzMutate(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int, _ limit: Int, _ seed: UInt32) -> Int {
    var random = FuzzRandom(seed: seed)
    let changed = change(Array(UnsafeBufferPointer(start: bytes, count: count)), &random) { input in
        // SAFETY: the array has room for `limit` bytes, and libFuzzer writes no more.
        [UInt8](unsafeUninitializedCapacity: max(limit, input.count)) { buffer, length in
            _ = buffer.initialize(from: input)
            length = buffer.baseAddress.map { mutateBytes($0, input.count, max(limit, input.count)) } ?? 0
        }
    }
    // What is too long is cut, as libFuzzer cuts what it reads.
    let length = min(changed.count, limit)
    for position in 0..<length { bytes[position] = changed[position] }
    return length
}

/// Small numbers that follow from libFuzzer's seed alone.
struct FuzzRandom {
    private var state: UInt64

    init(seed: UInt32) { state = UInt64(seed) &+ 1 }

    /// A number below `bound`, which is above 0.
    mutating func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(bound))
    }
}
