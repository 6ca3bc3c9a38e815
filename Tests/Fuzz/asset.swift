import SnapshotFormat

/// Snapshot assets behind their hashes: the input is the JSON.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    guard let asset = try? FuzzAsset(bytes) else { return }
    let decoded = try? SnapshotIndex.decode(asset.index.encode())
    expect(decoded == asset.index, "an index that is made reads as itself")
    try? asset.verify()
}
