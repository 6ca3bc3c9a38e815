package import SnapshotModel
package import StrictText

/// A sink that finds the rows that cannot be entities: it keeps the first reasons, and counts all of them.
///
/// Memory: one block, and the reasons that are kept.
package final class BadRows: EntitySink {
    /// How many reasons are kept.
    private let limit: Int
    /// The reasons of the first bad rows, in the order of the rows.
    package private(set) var faults: [SyncError] = []
    /// How many rows are bad.
    package private(set) var count = 0
    private var schema: DatasetSchema?
    private var encoder: BlockEncoder?

    package init(limit: Int) { self.limit = limit }

    /// Announces that the following rows belong to this dataset.
    package func begin(_ schema: DatasetSchema) { (self.schema, encoder) = (schema, nil) }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard let encoder = encoder ?? schema.map({ BlockEncoder(schema: $0, blockEntities: FormatLimits.blockEntities) }) else { return }
        self.encoder = encoder
        do {
            try encoder.receive(values)
            while let block = encoder.popCompleted() { encoder.recycle(block) }
        } catch let error as SyncError where error.format == .badRow || error.format == .tooLarge {
            // An encoder is unusable after an error.
            self.encoder = nil
            count += 1
            if faults.count < limit { faults.append(error) }
        }
    }
}
