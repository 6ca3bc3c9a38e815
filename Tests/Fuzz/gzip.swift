import SnapshotFormat

private let reader = MemberReader()
private let buffer = ByteBuffer()
/// More than any input of the fuzzer's length limit can honestly hold need not be reserved each time.
private let rawLimit = 1 << 20

/// One gzip member: its framing, its deflate stream and its checksums. The index entry is made to fit, so that the reading
/// behind the hash is reached; what it declares is what the member's own last four bytes say.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 4 else { return }
    let declared = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count - 4, as: UInt32.self)))
    let hash = ContentHash(of: bytes)
    let entry = MemberEntry(offset: 0, length: bytes.count, rawLength: min(declared, rawLimit), sha256: hash, rawSHA256: hash)
    guard (try? reader.inflate(bytes, entry: entry, name: "member", into: buffer)) != nil else { return }
    expect(buffer.count == entry.rawLength, "a member holds what it declares")
}
