package import CloudStore
import LocalStore

/// An asset writer on its way to the one thread that uses it.
package struct LentWriter: @unchecked Sendable {
    // SAFETY: whoever lends it waits while the exporter's thread has it.
    package let writer: any AssetWriter
    package init(_ writer: any AssetWriter) { self.writer = writer }
}

/// A reader of ranges on its way to the one worker that uses it.
struct LentRanges: @unchecked Sendable {
    // SAFETY: whoever lends it does not touch its connection until the worker has ended.
    let ranges: RangeReader
    init(_ ranges: RangeReader) { self.ranges = ranges }
}
