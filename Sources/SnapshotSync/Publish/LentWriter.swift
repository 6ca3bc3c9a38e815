import CloudStore

/// An asset writer on its way to the one thread that uses it.
struct LentWriter: @unchecked Sendable {
    // SAFETY: whoever lends it waits while the exporter's thread has it.
    let writer: any AssetWriter
    init(_ writer: any AssetWriter) { self.writer = writer }
}
