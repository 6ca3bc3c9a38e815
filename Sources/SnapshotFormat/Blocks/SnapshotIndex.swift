package import SnapshotModel
import StrictText

/// The block index of a snapshot asset: its schema, the positions of its members, and their hashes.
///
///     let index = try SnapshotIndex.decode(bytes, expecting: hashFromTheCommit)
///     for entry in index.blocks { … }
///
/// Every index has passed its checks: members follow each other without gaps from offset 0, counts and sizes add up, first keys ascend strictly,
/// and no declared size exceeds its limit. Source: docs/format.md, "The block index".
package struct SnapshotIndex: Hashable, Sendable {
    /// The dataset's name.
    package let dataset: String
    /// The JSON names of the key's columns, in the key's order.
    package let key: [String]
    /// The shapes and collations of the key's columns.
    package let keyShape: KeyShape
    /// The JSON name of the timestamp column, if the dataset has one.
    package let timestamp: String?
    /// The columns in canonical order, under their JSON names.
    package let columns: [DatasetColumn]
    /// The number of entities.
    package let recordCount: Int
    /// The mean number of entities per block for which the cut rule was set.
    package let blockEntities: Int
    /// The asset's length in bytes.
    package let size: Int
    /// The length of the asset's JSON in bytes.
    package let rawSize: Int
    /// The member before the first block.
    package let header: MemberEntry
    /// The blocks in key order.
    package let blocks: [BlockEntry]
    /// The member after the last block.
    package let tail: MemberEntry

    /// Makes an index and checks it.
    ///
    /// - Throws: ``SyncError`` with `.damaged` or `.tooLarge`, saying what is inconsistent.
    package init(
        schema: DatasetSchema, blockEntities: Int, header: MemberEntry, blocks: [BlockEntry], tail: MemberEntry
    ) throws {
        dataset = schema.name
        key = schema.keyColumns.map(\.name)
        keyShape = schema.keyShape
        timestamp = schema.timestamp
        columns = schema.columns.map { DatasetColumn($0.name, $0.shape, isOptional: $0.isOptional, collation: $0.collation) }
        self.blockEntities = blockEntities
        self.header = header
        self.blocks = blocks
        self.tail = tail
        recordCount = try Self.sum(blocks.lazy.map(\.count))
        size = try Self.sum([header.length, tail.length]) + Self.sum(blocks.lazy.map(\.member.length))
        rawSize = try Self.sum([header.rawLength, tail.rawLength]) + Self.sum(blocks.lazy.map(\.member.rawLength))
        try check()
    }

    /// The schema that the index describes, for a reader without a dataset file: every column under its JSON name.
    ///
    /// - Throws: `SchemaError` if `table` is not a name for a table.
    package func schema(table: String) throws -> DatasetSchema {
        try DatasetSchema(name: dataset, table: table, keys: key, timestamp: timestamp, columns: columns)
    }

    // Lengths in a hostile index may have any size, so the sum is checked for overflow.
    private static func sum(_ values: some Sequence<Int>) throws -> Int {
        var total = 0
        for value in values {
            guard value >= 0, value <= 1 << 48, total <= 1 << 60 else {
                throw SyncError(format: .tooLarge, at: "block index", "a count or a length is beyond all bounds")
            }
            total += value
        }
        return total
    }
}

extension SnapshotIndex {
    /// Checks that everything in the index is consistent.
    private func check() throws {
        guard (1...FormatLimits.blockEntities).contains(blockEntities) else {
            throw Self.fault("blockEntities", "it must be 1 to \(FormatLimits.blockEntities)")
        }
        try Self.check(header, "header", at: 0, upTo: FormatLimits.headerRawBytes)
        var offset = header.end
        for (number, block) in blocks.enumerated() {
            let place = "block \(number)"
            try Self.check(block.member, place, at: offset, upTo: FormatLimits.blockRawBytes)
            // The shortest entity is {"k":0} and a separator.
            guard block.count >= 1, block.count <= block.member.rawLength / 8 else {
                throw Self.fault(place, "its number of entities does not fit its size")
            }
            guard keyShape.accepts(block.firstKey), block.firstKey.byteCount <= FormatLimits.keyBytes else {
                throw Self.fault(place, "its first key is not a key")
            }
            guard number == 0 || blocks[number - 1].firstKey < block.firstKey else {
                throw SyncError(format: .outOfOrder, at: "block index, \(place)", "its first key does not come after the one before")
            }
            offset = block.member.end
        }
        try Self.check(tail, "tail", at: offset, upTo: FormatLimits.tailRawBytes)
    }

    private static func check(_ member: MemberEntry, _ place: String, at offset: Int, upTo rawLimit: Int) throws {
        guard member.offset == offset else { throw fault(place, "it does not begin where the member before ends") }
        guard member.length >= FormatLimits.memberBytes, member.rawLength >= 1 else { throw fault(place, "it is too short") }
        guard member.rawLength <= rawLimit, member.rawLength <= member.length * FormatLimits.inflateRatio else {
            throw SyncError(
                format: .tooLarge, at: "block index, \(place)", "it declares \(member.rawLength) bytes of JSON in \(member.length) bytes")
        }
    }

    static func fault(_ place: String, _ reason: String) -> SyncError {
        SyncError(format: .damaged, at: "block index, \(place)", reason, hint: "fetch the index again; else have the writer run: snapsync export --full")
    }
}

extension SnapshotIndex {
    /// Whether the asset was written with this schema: the same dataset, key, timestamp and columns, in the same order and form.
    package func describes(_ schema: DatasetSchema) -> Bool {
        dataset.exact == schema.name.exact && key.map(\.exact) == schema.keyColumns.map(\.name.exact) && timestamp?.exact == schema.timestamp?.exact
            && columns.elementsEqual(schema.columns) {
                $0.name.exact == $1.name.exact && $0.shape == $1.shape && $0.isOptional == $1.isOptional && $0.collation == $1.collation
            }
    }

    /// The schema reduced to the columns that the asset also has; nil if a column of the key is not among them.
    package func sharedSchema(with schema: DatasetSchema) throws -> DatasetSchema? {
        if describes(schema) { return schema }
        let names = Set(columns.map(\.name.exact)), shared = schema.columns.filter { names.contains($0.name.exact) }
        guard dataset.exact == schema.name.exact, key.map(\.exact) == schema.keyColumns.map(\.name.exact), schema.keyColumns.allSatisfy(shared.contains) else {
            return nil
        }
        return try schema.with(columns: shared)
    }

    /// The positions of a schema's columns that the asset does not have.
    package func missingColumns(of schema: DatasetSchema) -> [Int] {
        let described = Set(columns.map(\.name.exact))
        return schema.columns.indices.filter { !described.contains(schema.columns[$0].name.exact) }
    }

    /// Why a schema cannot read the asset; nil if it can.
    package func contradiction(of schema: DatasetSchema) -> String? {
        guard key.map(\.exact) == schema.keyColumns.map(\.name.exact) else {
            return "its key is \(key.joined(separator: ", ")), and this device's is \(schema.keyNames)"
        }
        guard keyShape.isComparable(with: schema.keyShape) else { return "the columns of its key have other collations than this device's" }
        func form(_ shape: ColumnShape?) -> String { shape.map { "declared as \($0.rawValue)" } ?? "not declared" }
        for column in schema.columns {
            guard let written = columns.first(where: { $0.name.exact == column.name.exact }), written.shape != column.shape else { continue }
            return "the column \(column.name) is \(form(written.shape)) in the writer's dataset file, and \(form(column.shape)) in this device's"
        }
        return nil
    }
}

/// The index entry of one gzip member: its position and length in the file, and the hashes of its bytes.
package struct MemberEntry: Hashable, Sendable {
    /// The member's offset in the file, in bytes.
    package let offset: Int
    /// The member's length in the file, in bytes.
    package let length: Int
    /// The length of the decompressed member, in bytes.
    package let rawLength: Int
    /// The hash of the member's bytes in the file.
    package let sha256: ContentHash
    /// The hash of the decompressed member; for a block, without the separator before its first entity.
    package let rawSHA256: ContentHash

    /// Describes a member.
    package init(offset: Int, length: Int, rawLength: Int, sha256: ContentHash, rawSHA256: ContentHash) {
        (self.offset, self.length, self.rawLength, self.sha256, self.rawSHA256) = (offset, length, rawLength, sha256, rawSHA256)
    }

    /// The offset of the first byte after the member.
    package var end: Int { offset + length }

    /// The same member at another offset.
    func moved(to offset: Int) -> MemberEntry {
        MemberEntry(offset: offset, length: length, rawLength: rawLength, sha256: sha256, rawSHA256: rawSHA256)
    }
}

package struct BlockEntry: Hashable, Sendable {
    /// The key of the block's first entity.
    package let firstKey: EntityKey
    /// The number of entities, at least 1.
    package let count: Int
    /// The member that holds the block.
    package let member: MemberEntry

    /// Describes a block.
    package init(firstKey: EntityKey, count: Int, member: MemberEntry) {
        (self.firstKey, self.count, self.member) = (firstKey, count, member)
    }
}
