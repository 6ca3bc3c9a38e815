internal import CZlib
package import SnapshotModel
package import StrictText

/// Reads a container that another program made: any key order, any white space, plain or gzip.
///
///     let reader = ContainerReader(schemas: schemas) { try file.read(into: $0) }
///     while let block = try reader.next() { try block.send(to: applier) }
///     let timestamp = reader.syncTimestamp, count = reader.recordCount
///
/// It returns blocks of about 256 KiB of JSON, with the entities in the file's order, which need not be key order. It does not detect duplicate
/// keys. Unknown fields are skipped, but all JSON is checked strictly. Memory: the whole file, decompressed. One thread at a time.
package final class ContainerReader: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    /// The amount of JSON, in bytes, at which a block ends.
    package static let blockBytes = 256 << 10

    private let schemas: [DatasetSchema]
    private let file: ContainerFile
    private var text = ByteBuffer()
    private var entities: EntityParser?
    /// Where the next entity begins in the text, after white space and a comma.
    private var position = 0
    /// The schema of the file's dataset; nil until the first block.
    package private(set) var schema: DatasetSchema?
    /// The container's timestamp; nil until the first block.
    package private(set) var syncTimestamp: Instant?
    /// The number of entities in the blocks so far.
    package private(set) var recordCount = 0

    /// Makes a reader for a file of one of the datasets in `schemas`.
    ///
    /// `read` writes the file's next bytes to the buffer and returns their number, 0 at the end of the file.
    ///
    /// - Parameter limit: how large the file may be, compressed or not, in bytes.
    package init(schemas: [DatasetSchema], limit: Int = FormatLimits.foreignBytes, read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int) {
        self.schemas = schemas
        file = ContainerFile(limit: limit, read: read)
    }

    /// Returns the next block; nil after the last one. The first call reads the whole file.
    ///
    /// - Throws: ``SyncError`` with `.truncated`, `.damaged`, `.badEntity`, `.tooLarge` or `.notAContainer`; what `read` throws.
    package func next() throws -> EntityBlock? {
        if schema == nil { try open() }
        guard let schema else { return nil }
        let block = EntityBlock()
        try fill(block, of: schema)
        return block.count > 0 ? block : nil
    }

    /// Reads the file, checks that it is strict JSON, and finds its dataset and its timestamp.
    private func open() throws {
        text = try file.text()
        let scanner = JSONScanner(text.bytes), start = scanner.skipSpace(0)
        guard start < scanner.end else { throw damaged(JSONFault(offset: start, reason: ""), in: scanner) }
        guard scanner.base[start] == UInt8(ascii: "{") else {
            let first = scanner.base[start]
            let reason = first == 0xEF || first == 0xFE || first == 0xFF ? "it begins with a byte order mark" : "it does not begin with '{'"
            throw notAContainer("it is not a JSON container: \(reason)", "the file must be JSON in UTF-8, plain or compressed with gzip")
        }
        var dataset: (schema: DatasetSchema, array: Int)?, names: Set<[UInt8]> = []
        do {
            if let fault = UTF8Check.firstFault(in: text.bytes) { throw JSONFault(offset: fault, reason: "the text is not UTF-8") }
            let end = scanner.skipSpace(try scanner.skipValue(start, depthLimit: JSONScanner.depthLimit + 3))
            guard end == scanner.end else { throw JSONFault(offset: end, reason: "something follows the container") }
            try scanner.forEachMember { name, value in
                guard names.insert(name).inserted else { throw JSONFault(offset: value.lowerBound, reason: "a key of the container stands twice") }
                if name.elementsEqual("syncTimestamp".utf8) {
                    syncTimestamp = try timestamp(value, scanner)
                } else if let schema = schemas.first(where: { name.elementsEqual($0.name.utf8) }) {
                    guard dataset == nil else {
                        throw notAContainer("it holds two datasets, \(dataset?.schema.name ?? "") and \(schema.name)", "import files of one dataset each")
                    }
                    guard scanner.base[value.lowerBound] == UInt8(ascii: "[") else {
                        throw JSONFault(offset: value.lowerBound, reason: "\(schema.name) is not an array")
                    }
                    dataset = (schema, value.lowerBound)
                }
            }
        } catch let error as JSONFault {
            throw damaged(error, in: scanner)
        }
        guard let dataset else {
            let known = schemas.map(\.name).joined(separator: ", ")
            throw notAContainer("it holds none of the datasets \(known)", "the array's name must be the dataset's; see the dataset file")
        }
        guard syncTimestamp != nil else {
            throw notAContainer("it has no syncTimestamp", "add \"syncTimestamp\" with the time at which the data was current")
        }
        entities = EntityParser(SchemaPlan(dataset.schema), isForeign: true)
        (schema, position) = (dataset.schema, scanner.skipSpace(dataset.array + 1))
    }

    private func timestamp(_ value: Range<Int>, _ scanner: JSONScanner) throws -> Instant {
        guard scanner.base[value.lowerBound] == UInt8(ascii: "\"") else { throw JSONFault(offset: value.lowerBound, reason: "syncTimestamp is not a string") }
        do {
            return try scanner.unescape(value.lowerBound + 1, value.upperBound - 1).withUnsafeBytes { try Instant(parsing: $0) }
        } catch let error as InstantError {
            throw JSONFault(offset: value.lowerBound, reason: "syncTimestamp is \(error)")
        }
    }

    private func fill(_ block: EntityBlock, of schema: DatasetSchema) throws {
        guard let entities else { return }
        block.begin(columnCount: schema.columns.count)
        let file = JSONScanner(text.bytes)
        // The block's JSON is the entities without separators, each directly after the previous one.
        while block.raw.count < Self.blockBytes, file.base[position] != UInt8(ascii: "]") {
            let end = try file.skipValue(position, depthLimit: JSONScanner.depthLimit + 1)
            guard end - position <= FormatLimits.entityBytes else {
                throw SyncError(
                    format: .tooLarge, at: "file, byte \(position)", "one value is larger than \(FormatLimits.entityBytes >> 20) MiB",
                    hint: "keep large contents outside the dataset and refer to them")
            }
            block.raw.append(UnsafeRawBufferPointer(rebasing: text.bytes[position..<end]))
            position = file.skipSpace(end)
            if file.base[position] == UInt8(ascii: ",") { position = file.skipSpace(position + 1) }
        }
        block.raw.seal()
        let scanner = JSONScanner(block.raw.bytes)
        var next = 0
        while next < scanner.end {
            do throws(EntityFault) {
                next = try entities.parse(scanner, at: next, into: block)
            } catch {
                throw fault(schema, error.reason, column: error.column)
            }
            guard block.parseKey(entities.plan, entities, ordered: false) == nil else {
                throw fault(schema, "the key is longer than \(FormatLimits.keyBytes) bytes", column: entities.plan.keyIndex)
            }
            block.count += 1
            recordCount += 1
        }
    }

    // MARK: Errors

    private func damaged(_ fault: JSONFault, in scanner: JSONScanner) -> SyncError {
        guard fault.offset < scanner.end else {
            return SyncError(format: .truncated, at: "file", "it ends at byte \(fault.offset) of its text, in the middle", hint: "copy the file again")
        }
        return SyncError(format: .damaged, at: "file, byte \(fault.offset)", fault.reason, hint: "the file must be strict JSON (RFC 8259) in UTF-8")
    }

    private func notAContainer(_ reason: String, _ hint: String) -> SyncError {
        SyncError(format: .notAContainer, at: "file", reason, hint: hint)
    }

    private func fault(_ schema: DatasetSchema, _ reason: String, column: Int?) -> SyncError {
        let place = "\(schema.name), entity \(recordCount)" + (column.map { ", column \(schema.columns[$0].name)" } ?? "")
        return SyncError(format: .badEntity, at: place, reason, hint: "correct the entity in the file; entities count from 0")
    }
}

/// A file as a whole, plain or gzip; the first two bytes tell which.
///
/// Source: RFC 1952 section 2.2: a gzip file is a series of members. Anything else after a member is refused.
private struct ContainerFile {
    let limit: Int
    let read: (UnsafeMutableRawBufferPointer) throws -> Int

    private static let pieceBytes = 1 << 20

    /// Returns the file's text.
    func text() throws -> ByteBuffer {
        let stored = ByteBuffer()
        while true {
            stored.reserve(Self.pieceBytes)
            let count = try read(UnsafeMutableRawBufferPointer(start: stored.base + stored.count, count: Self.pieceBytes))
            guard count > 0 else { break }
            stored.count += count
            try verifySize(stored)
        }
        return beginsMember(stored.bytes) ? try inflated(stored) : stored
    }

    private func beginsMember(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.count >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B }

    private func verifySize(_ bytes: ByteBuffer) throws {
        guard bytes.count > limit else { return }
        throw SyncError(
            format: .tooLarge, at: "file", "it has more than \(limit) bytes", hint: "sync the data with the database that they come from")
    }

    private func inflated(_ stored: ByteBuffer) throws -> ByteBuffer {
        let text = ByteBuffer()
        var stream = z_stream()
        // Adding 16 to the window bits selects gzip only; zlib then checks the header and checksum.
        guard inflateInit2_(&stream, MAX_WBITS + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw SyncError(format: .outOfMemory, at: "file", "zlib has no memory", hint: "free memory and try again")
        }
        defer { inflateEnd(&stream) }
        // SAFETY: zlib reads at most avail_in bytes of the file and does not write it. It writes at most avail_out bytes after the contents of
        // `text`, which has room for them.
        (stream.next_in, stream.avail_in) = (stored.base, UInt32(stored.count))
        while true {
            text.reserve(Self.pieceBytes)
            (stream.next_out, stream.avail_out) = (text.base + text.count, UInt32(Self.pieceBytes))
            let status = CZlib.inflate(&stream, Z_NO_FLUSH)
            text.count += Self.pieceBytes - Int(stream.avail_out)
            try verifySize(text)
            switch status {
            case Z_OK: continue
            case Z_STREAM_END:
                let rest = UnsafeRawBufferPointer(rebasing: stored.bytes.suffix(Int(stream.avail_in)))
                if rest.isEmpty { return text }
                guard beginsMember(rest) else { throw SyncError(format: .damaged, at: "file", "something follows the gzip data", hint: "copy the file again") }
                inflateReset(&stream)
            case Z_BUF_ERROR: throw SyncError(format: .truncated, at: "file", "the gzip data ends in the middle", hint: "copy the file again")
            default: throw SyncError(format: .damaged, at: "file", "the gzip data is broken", hint: "copy the file again")
            }
        }
    }
}
