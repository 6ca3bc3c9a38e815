import Glibc

/// What libFuzzer calls with each input; every target file has one `fuzz(_:)`.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let begin = processorSeconds()
    fuzz(UnsafeRawBufferPointer(start: start, count: count))
    expect(processorSeconds() - begin < 1, "no input takes more than a second of the processor")
    return 0
}

/// Not the clock on the wall, by which any input takes long on a busy machine.
private func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Ends the run, and with it keeps the input, where a parser has taken what it must not, or made something else of it.
func expect(_ condition: Bool, _ fact: StaticString) {
    guard !condition else { return }
    fputs("broken promise: \(fact)\n", stderr)
    abort()
}
