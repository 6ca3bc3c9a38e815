package import SnapshotModel
import StrictText

/// Checks whether the rows of a range of keys equal the entities of a block, without reading the block.
///
///     hasher.begin(entry)
///     try rows.read(range, into: hasher)        // may end early with RangeHasher.Differs
///     let isSame = hasher.isSame
///
/// Memory: one block, however many rows the range has. One thread at a time.
package final class RangeHasher: EntitySink {
    /// Thrown by ``receive(_:)`` when the rows can no longer equal the block, so that the rest is not read.
    package struct Differs: Error {}

    private let plan: SchemaPlan
    private let encoder: EntityEncoder
    private let buffer = ByteBuffer()
    private var count = 0
    private var expected: BlockEntry?

    /// Makes a hasher for entities of a schema.
    package init(schema: DatasetSchema) {
        plan = SchemaPlan(schema)
        encoder = EntityEncoder(plan)
    }

    /// Starts a comparison of the rows that follow with a block.
    package func begin(_ entry: BlockEntry) {
        buffer.clear()
        count = 0
        expected = entry
    }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let expected, count < expected.count, buffer.count <= expected.member.rawLength, values.count == plan.count else { throw Differs() }
        if count > 0 { withUnsafeBytes(of: Self.separator) { buffer.append($0) } }
        do {
            try encoder.encode(values, into: buffer)
        } catch let error as SyncError where error.format != nil {
            // No version can contain such a row.
            throw Differs()
        }
        count += 1
    }

    /// Whether the rows that were taken are exactly the block's entities.
    package var isSame: Bool {
        guard let expected else { return false }
        return count == expected.count && ContentHash(of: buffer.bytes) == expected.member.rawSHA256
    }

    /// The JSON of the rows, as in a block without its leading separator; valid until the next row.
    package var bytes: UnsafeRawBufferPointer { buffer.bytes }

    private static let separator: (UInt8, UInt8) = (UInt8(ascii: ","), UInt8(ascii: "\n"))
}
