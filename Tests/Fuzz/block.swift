import SnapshotFormat

/// The JSON of blocks: `\n`, then entities with `,\n` between them.
func fuzz(_ bytes: UnsafeRawBufferPointer) {
    _ = FuzzBlock.contents(of: bytes, FuzzSchema.everyKind)
    _ = FuzzBlock.contents(of: bytes, FuzzSchema.integerKey)
}
