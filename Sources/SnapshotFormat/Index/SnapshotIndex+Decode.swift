package import Foundation
internal import SnapshotModel
import StrictText

extension SnapshotIndex {
    /// Parses and checks an index.
    ///
    /// Only the canonical text is accepted: encoding the result must give the same bytes. Memory: a small multiple of the text.
    ///
    /// - Parameter hash: the SHA-256 in the commit; checked before anything is parsed.
    /// - Throws: ``SyncError`` with `.hashMismatch`, `.unsupportedVersion`, `.truncated`, `.tooLarge`, `.outOfOrder` or `.damaged`.
    package static func decode(_ data: Data, expecting hash: ContentHash? = nil) throws -> SnapshotIndex {
        guard data.count <= FormatLimits.indexBytes else {
            throw SyncError(format: .tooLarge, at: "block index", "it is larger than \(FormatLimits.indexBytes >> 20) MiB")
        }
        return try data.withUnsafeBytes { bytes in
            if let hash, ContentHash(of: bytes) != hash {
                throw SyncError(
                    format: .hashMismatch, at: "block index", "its bytes are not those that the commit names", hint: "fetch it again")
            }
            var reader = LiteralReader(bytes, place: "block index")
            let (index, size, rawSize, recordCount) = try read(&reader)
            guard index.size == size, index.rawSize == rawSize, index.recordCount == recordCount else {
                throw fault("totals", "the counts or sizes of the members do not add up to them")
            }
            guard index.isEncoded(as: bytes) else { throw fault("text", "it is not in canonical form") }
            return index
        }
    }

    private static func read(_ reader: inout LiteralReader) throws -> (SnapshotIndex, size: Int, rawSize: Int, recordCount: Int) {
        try reader.expect("{\"formatVersion\":")
        let version = try reader.integer()
        guard version == Int64(FormatLimits.formatVersion) else {
            throw SyncError(
                format: .unsupportedVersion, at: "block index",
                "it is of format version \(version), and this program knows version \(FormatLimits.formatVersion)",
                hint: "update this program")
        }
        try reader.expect(",\"dataset\":")
        let dataset = try reader.string()
        try reader.expect(",\"key\":")
        var key: [String] = []
        if reader.accept("[") {
            repeat { key.append(try reader.string()) } while key.count <= 1000 && reader.accept(",")
            try reader.expect("]")
        } else {
            key.append(try reader.string())
        }
        let timestamp = reader.accept(",\"timestamp\":") ? try reader.string() : nil
        try reader.expect(",\n\"columns\":[")
        let columns = try columns(&reader)
        try reader.expect(",\n\"recordCount\":")
        let recordCount = try reader.count()
        try reader.expect(",\"blockEntities\":")
        let blockEntities = try reader.count()
        try reader.expect(",\"size\":")
        let size = try reader.count()
        try reader.expect(",\"rawSize\":")
        let rawSize = try reader.count()
        try reader.expect(",\n\"header\":{")
        let header = try member(&reader)
        try reader.expect(",\n\"blocks\":[")
        let blocks = try blocks(&reader)
        try reader.expect(",\n\"tail\":{")
        let tail = try member(&reader)
        try reader.expect("}\n")
        try reader.expectEnd()

        let schema: DatasetSchema
        do {
            schema = try DatasetSchema(name: dataset, table: dataset, keys: key, timestamp: timestamp, columns: columns)
        } catch let error as SchemaError {
            throw fault("columns", error.reason)
        }
        let index = try SnapshotIndex(schema: schema, blockEntities: blockEntities, header: header, blocks: blocks, tail: tail)
        return (index, size, rawSize, recordCount)
    }

    private static func columns(_ reader: inout LiteralReader) throws -> [DatasetColumn] {
        var columns: [DatasetColumn] = []
        repeat {
            try reader.expect("\n{\"name\":")
            let name = try reader.string()
            var shape: ColumnShape?, isOptional = true
            if reader.accept(",\"type\":") {
                guard let known = ColumnShape(rawValue: try reader.string()) else { throw fault("columns", "a type that the format does not have") }
                shape = known
                try reader.expect(",\"optional\":")
                isOptional = reader.accept("true")
                if !isOptional { try reader.expect("false") }
            }
            var collation = KeyCollation.binary
            if reader.accept(",\"collation\":") {
                guard let known = KeyCollation(rawValue: try reader.string()) else { throw fault("columns", "a collation that the format does not have") }
                collation = known
            }
            try reader.expect("}")
            columns.append(DatasetColumn(name, shape, isOptional: isOptional, collation: collation))
        } while columns.count <= 1000 && reader.accept(",")
        try reader.expect("\n]")
        return columns
    }

    private static func blocks(_ reader: inout LiteralReader) throws -> [BlockEntry] {
        var blocks: [BlockEntry] = []
        if reader.accept("]") { return blocks }
        blocks.reserveCapacity(reader.remainingCount / 256)
        repeat {
            try reader.expect("\n{\"firstKey\":")
            let firstKey = try reader.key()
            try reader.expect(",\"count\":")
            let count = try reader.count()
            try reader.expect(",")
            blocks.append(BlockEntry(firstKey: firstKey, count: count, member: try member(&reader)))
        } while reader.accept(",")
        try reader.expect("\n]")
        return blocks
    }

    private static func member(_ reader: inout LiteralReader) throws -> MemberEntry {
        try reader.expect("\"offset\":")
        let offset = try reader.count()
        try reader.expect(",\"length\":")
        let length = try reader.count()
        try reader.expect(",\"rawLength\":")
        let rawLength = try reader.count()
        try reader.expect(",\"sha256\":")
        let sha256 = try reader.hash()
        try reader.expect(",\"rawSha256\":")
        let rawSHA256 = try reader.hash()
        try reader.expect("}")
        return MemberEntry(offset: offset, length: length, rawLength: rawLength, sha256: sha256, rawSHA256: rawSHA256)
    }
}
