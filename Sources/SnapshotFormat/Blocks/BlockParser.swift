package import SnapshotModel
import StrictText
internal import StrictText

/// Parses the blocks of snapshot assets strictly, and checks them against the index.
///
///     let parser = BlockParser(schema: schema)
///     try parser.parse(block, number: 17, of: index)
///
/// For one thread at a time; each worker has its own.
package final class BlockParser: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    private let plan: SchemaPlan
    private let entities: EntityParser

    /// Makes a parser of blocks for a schema, which may lack columns that the asset has.
    package init(schema: DatasetSchema) {
        plan = SchemaPlan(schema)
        entities = EntityParser(plan, isForeign: false)
    }

    /// Parses the JSON in `block.raw`, the decompressed member of the block.
    ///
    /// Checks UTF-8, the exact separators, every entity against the schema, that keys ascend strictly within the block and up to the next
    /// block's first key, and the number of entities and the first key against the index.
    ///
    /// - Throws: ``SyncError`` with `.damaged`, `.badEntity` or `.outOfOrder`, naming block, entity (both from 0) and column. The block's
    ///   contents are invalid after an error.
    package func parse(_ block: EntityBlock, number: Int, of index: SnapshotIndex) throws {
        let next = number + 1 < index.blocks.count ? index.blocks[number + 1].firstKey : nil
        try parse(block, entry: index.blocks[number], number: number, nextFirstKey: next)
    }

    /// Parses a block by its entry alone; `nextFirstKey` is the first key of the next block, if there is one.
    package func parse(_ block: EntityBlock, entry: BlockEntry, number: Int, nextFirstKey: EntityKey?) throws {
        let count = try parse(block, number: number)
        guard count == entry.count else {
            throw SyncError(format: .damaged, at: place(number), "it holds \(count) entities, and the index says \(entry.count)", hint: Self.hint)
        }
        guard block.firstKey == entry.firstKey else {
            throw SyncError(format: .damaged, at: place(number), "its first key is not the one in the index", hint: Self.hint)
        }
        if let nextFirstKey, let lastKey = block.lastKey, !(lastKey < nextFirstKey) {
            throw SyncError(format: .outOfOrder, at: place(number), "its last key does not come before the next block's first", hint: Self.hint)
        }
    }

    /// Parses a block without checking it against an index; returns the number of its entities.
    func parse(_ block: EntityBlock, number: Int) throws -> Int {
        block.begin(columnCount: plan.count)
        block.raw.seal()
        let bytes = block.raw.bytes
        if let fault = UTF8Check.firstFault(in: bytes) {
            throw SyncError(format: .damaged, at: place(number), "byte \(fault) is not UTF-8", hint: Self.hint)
        }
        let scanner = JSONScanner(bytes)
        var position = 0
        var count = 0
        if number > 0, bytes.count > 0, bytes[0] == UInt8(ascii: ",") { position = 1 }
        while position < scanner.end {
            guard position > 0 || number == 0, scanner.base[position] == UInt8(ascii: "\n") else {
                throw fault(block: number, entity: count, .damaged, "a separator is missing before the entity")
            }
            let end: Int
            do throws(EntityFault) {
                end = try entities.parse(scanner, at: position + 1, into: block)
            } catch {
                throw fault(block: number, entity: count, .badEntity, error.reason, column: error.column)
            }
            try checkKey(block, number: number, entity: count)
            count += 1
            guard end < scanner.end else { break }
            guard scanner.base[end] == UInt8(ascii: ","), end + 1 < scanner.end else {
                throw fault(block: number, entity: count, .damaged, "a separator is missing before the entity")
            }
            position = end + 1
        }
        block.count = count
        return count
    }

    /// Checks that the key of the entity just parsed is greater than the previous one.
    @inline(__always)
    private func checkKey(_ block: EntityBlock, number: Int, entity count: Int) throws {
        switch block.parseKey(plan, entities, ordered: true) {
        case .tooLong?: throw fault(block: number, entity: count, .badEntity, "the key is longer than \(FormatLimits.keyBytes) bytes", column: plan.keyIndex)
        case .notAscending?:
            throw fault(block: number, entity: count, .outOfOrder, "its key does not come after the one before", column: plan.keyIndex)
        case nil: break
        }
    }

    private static let hint =
        "if the two devices have dataset files, compare them: names, types and optional columns must agree; else have the writer run: snapsync export --full"

    private func place(_ number: Int) -> String { "\(plan.schema.name), block \(number)" }

    @inline(never)
    private func fault(
        block number: Int, entity count: Int, _ code: SyncError.FormatFault, _ reason: String, column: Int? = nil
    ) -> SyncError {
        let place = place(number) + ", entity \(count)" + (column.map { ", column \(plan.name($0))" } ?? "")
        return SyncError(format: code, at: place, reason, hint: Self.hint)
    }
}
