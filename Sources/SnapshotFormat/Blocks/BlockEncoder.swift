package import SnapshotModel
import StrictText

/// Encodes entities in key order as blocks of canonical JSON, and cuts the blocks by the cut rule.
///
///     let encoder = BlockEncoder(schema: schema, blockEntities: 400)
///     try rows.send(to: encoder)          // for each range of keys: encoder.beginRange() first
///     encoder.finish()
///     while let block = encoder.popCompleted() { …; encoder.recycle(block) }
///
/// Completed blocks can be taken while entities are still added. Memory: the blocks that were not taken and recycled. One thread at a time.
package final class BlockEncoder: EntitySink, @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    private let plan: SchemaPlan
    private let entities: EntityEncoder
    private let cutter: BlockCutter
    private var current: RawBlock?
    private var completed: [RawBlock] = []
    private var spare: [RawBlock] = []
    private let last = LastKey()
    private var keyBytes: [UInt8] = []

    /// Makes an encoder whose blocks begin where `cutter` says.
    package init(schema: DatasetSchema, cutter: BlockCutter) {
        plan = SchemaPlan(schema)
        entities = EntityEncoder(plan)
        self.cutter = cutter
    }

    /// Makes an encoder for a mean number of entities in a block (see ``BlockSizing``), without the cut key of a sealed zone.
    package convenience init(schema: DatasetSchema, blockEntities: Int) {
        self.init(schema: schema, cutter: BlockCutter(blockEntities: blockEntities))
    }

    /// Takes one entity: a value for each column of the schema, in its order. Its key must be greater than the previous one.
    ///
    /// - Throws: ``SyncError`` with `.badRow`, `.outOfOrder` or `.tooLarge`, naming dataset, key and column. The encoder is unusable after an
    ///   error.
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        guard values.count == plan.count else {
            throw SyncError(format: .misuse, at: plan.schema.name, "\(values.count) values were given for \(plan.count) columns")
        }
        try entities.withKey(values, using: &keyBytes) { key in
            guard last.isBefore(key) else { throw orderFault(at: entities.place(values, plan.keyIndex)) }
            if cutter.cuts(before: key) { completeBlock() }
            let block = blockForNext()
            try entities.encode(values, into: block.buffer)
            last.remember(key)
            didAdd(to: block)
        }
    }

    /// Takes an entity that ``RecordEncoder`` has checked and encoded: its key, and its JSON. Its key must be greater than the previous one.
    ///
    /// - Throws: ``SyncError`` with `.outOfOrder`, naming dataset and key. The encoder is unusable after an error.
    func append(key: LentKey, entity: UnsafeRawBufferPointer) throws {
        guard last.isBefore(key) else { throw orderFault(at: "\(plan.schema.name), key \(key.owned)") }
        if cutter.cuts(before: key) { completeBlock() }
        let block = blockForNext()
        block.buffer.append(entity)
        last.remember(key)
        didAdd(to: block)
    }

    /// The block that the next entity belongs to, ready for its bytes.
    @inline(__always)
    private func blockForNext() -> RawBlock {
        if let current, current.buffer.count < FormatLimits.fullBlockBytes {
            var cursor = ByteCursor(current.buffer)
            cursor.append(UInt8(ascii: ","))
            cursor.append(UInt8(ascii: "\n"))
            cursor.finish()
            return current
        }
        completeBlock()
        let block = spare.popLast() ?? RawBlock()
        current = block
        return block
    }

    @inline(__always)
    private func didAdd(to block: RawBlock) {
        block.count += 1
        if block.count == 1 { block.firstKey = last.key }
    }

    /// Ends the current block and forgets the last key, because entities of another range of keys follow.
    ///
    /// The first entity of a range always begins a block, so ranges must begin where the cut rule cuts by key.
    package func beginRange() {
        completeBlock()
        last.forget()
    }

    /// Ends the current block; no more entities may follow.
    package func finish() { completeBlock() }

    /// Removes and returns the oldest completed block, or nil.
    package func popCompleted() -> RawBlock? {
        completed.isEmpty ? nil : completed.removeFirst()
    }

    /// Takes back a block that is no longer needed, to reuse its memory.
    package func recycle(_ block: RawBlock) {
        block.clear()
        spare.append(block)
    }

    private func completeBlock() {
        guard let block = current else { return }
        block.lastKey = last.key
        completed.append(block)
        current = nil
    }

    private func orderFault(at place: String) -> SyncError {
        SyncError(
            format: .outOfOrder, at: place, "its key does not come after the key before, \(last.key?.description ?? "none")",
            hint: "the key's column must be unique and of collation BINARY, and the rows be read in its order")
    }
}
