package import SnapshotModel

/// Encodes ranges of entities as blocks, and passes each block on as soon as it is complete.
///
///     let blocks = BlockStream(schema: schema, cutter: cutter) { block in … }
///     for range in ranges { try blocks.encode { try rows.read(range, into: blocks) } }
///
/// Memory: one block. One thread at a time.
package final class BlockStream: EntitySink {
    private let encoder: BlockEncoder
    private let pass: (RawBlock) throws -> Void

    /// - Parameter pass: receives the blocks of a range in order. A block is valid only during the call.
    package init(schema: DatasetSchema, cutter: BlockCutter, pass: @escaping (RawBlock) throws -> Void) {
        encoder = BlockEncoder(schema: schema, cutter: cutter)
        self.pass = pass
    }

    /// Encodes the entities of one range; see ``BlockEncoder/beginRange()``.
    ///
    /// - Parameter give: passes the entities, in key order.
    package func encode(_ give: () throws -> Void) throws {
        encoder.beginRange()
        try give()
        encoder.finish()
        try passOn()
    }

    /// Takes one entity; see ``BlockEncoder/receive(_:)``.
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        try encoder.receive(values)
        try passOn()
    }

    /// Appends an entity that is encoded; see ``BlockEncoder/append(key:entity:)``.
    func append(key: LentKey, entity: UnsafeRawBufferPointer) throws {
        try encoder.append(key: key, entity: entity)
        try passOn()
    }

    private func passOn() throws {
        while let block = encoder.popCompleted() {
            try pass(block)
            encoder.recycle(block)
        }
    }
}
