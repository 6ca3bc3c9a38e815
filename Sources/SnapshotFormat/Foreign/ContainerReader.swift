package import SnapshotModel
package import StrictText

/// Reads a container that another program made: any key order, any white space, plain or gzip, in bounded memory.
///
///     let reader = ContainerReader(schemas: schemas) { try file.read(into: $0) }
///     while let block = try reader.next() { try block.give(to: applier) }
///     let timestamp = reader.syncTimestamp, count = reader.recordCount
///
/// It returns blocks of about 256 KiB of JSON, with the entities in the file's order, which need not be key order. It does not detect duplicate
/// keys. Unknown fields are skipped, but all JSON is checked strictly. Memory: a block, and the largest entity (at most 64 MiB). One thread at a
/// time.
package final class ContainerReader: @unchecked Sendable {
    // SAFETY (of @unchecked Sendable): the owner uses it on one thread at a time.

    /// The amount of JSON, in bytes, at which a block ends.
    package static let blockBytes = 256 << 10

    private enum State { case beforeObject, beforeMember, inDataset, ended }

    private let schemas: [DatasetSchema]
    private let window: InputWindow
    private let values: ValueFinder
    private var entities: EntityParser?
    private var state = State.beforeObject
    private var names: Set<[UInt8]> = []
    private var isFirstElement = true
    /// The schema of the file's dataset; nil until its array begins.
    package private(set) var schema: DatasetSchema?
    /// The container's timestamp; nil until it was read, and never nil after the last block.
    package private(set) var syncTimestamp: Instant?
    /// The number of entities in the blocks so far.
    package private(set) var recordCount = 0

    /// Makes a reader for a file of one of the datasets in `schemas`.
    ///
    /// `read` writes the file's next bytes to the buffer and returns their number, 0 at the end of the file.
    package init(schemas: [DatasetSchema], read: @escaping (UnsafeMutableRawBufferPointer) throws -> Int) {
        self.schemas = schemas
        window = InputWindow(read: read)
        values = ValueFinder(window: window, limit: FormatLimits.entityBytes)
    }

    /// Returns the next block; nil after the last one, if the whole file was read and is valid.
    ///
    /// - Parameter reusing: a block that is no longer needed, whose memory is reused.
    /// - Throws: ``FormatError`` with `.truncated`, `.damaged`, `.badEntity`, `.tooLarge` or `.notAContainer`; what `read` throws.
    package func next(reusing spare: EntityBlock? = nil) throws -> EntityBlock? {
        while true {
            switch state {
            case .beforeObject:
                try beginObject()
            case .beforeMember:
                try readMember()
            case .inDataset:
                let block = spare ?? EntityBlock()
                try fill(block)
                if block.count > 0 { return block }
            case .ended:
                return nil
            }
        }
    }

    // MARK: The container

    private func beginObject() throws {
        guard let first = try window.peek() else { throw ValueFinder.truncated(at: window.offset) }
        guard first == UInt8(ascii: "{") else {
            let reason = first == 0xEF || first == 0xFE || first == 0xFF ? "it begins with a byte order mark" : "it does not begin with '{'"
            throw notAContainer("it is not a JSON container: \(reason)", "the file must be JSON in UTF-8, plain or compressed with gzip")
        }
        window.consume(1)
        if try window.peek() == UInt8(ascii: "}") {
            window.consume(1)
            try end()
        } else {
            state = .beforeMember
        }
    }

    private func readMember() throws {
        let length = try values.gather()
        let name = try string(length, "a key")
        window.consume(length)
        guard name.count <= FormatLimits.keyBytes, names.count < 10_000 else {
            throw damaged("the container has too many or too long keys")
        }
        guard names.insert(name).inserted else { throw damaged("a key of the container stands twice") }
        try require(UInt8(ascii: ":"), "':'")
        if name.elementsEqual("syncTimestamp".utf8) {
            try readTimestamp()
        } else if let schema = schemas.first(where: { name.elementsEqual($0.name.utf8) }) {
            try beginDataset(schema)
            return
        } else if try window.peek() == UInt8(ascii: "[") {
            window.consume(1)
            isFirstElement = true
            while let length = try nextElement() { window.consume(try checkedValue(length)) }
        } else {
            window.consume(try checkedValue(values.gather()))
        }
        try endMember()
    }

    private func readTimestamp() throws {
        let length = try values.gather()
        let text = try string(length, "syncTimestamp must be a string; it")
        do {
            syncTimestamp = try text.withUnsafeBytes { try Instant(parsing: $0) }
        } catch let error as InstantError {
            throw damaged("syncTimestamp is \(error)")
        }
        window.consume(length)
    }

    private func beginDataset(_ schema: DatasetSchema) throws {
        if let first = self.schema {
            throw notAContainer("it holds two datasets, \(first.name) and \(schema.name)", "import files of one dataset each")
        }
        guard try window.peek() == UInt8(ascii: "[") else { throw damaged("\(schema.name) is not an array") }
        window.consume(1)
        self.schema = schema
        entities = EntityParser(SchemaPlan(schema), isForeign: true)
        isFirstElement = true
        state = .inDataset
    }

    private func endMember() throws {
        switch try window.peek() {
        case UInt8(ascii: ","):
            window.consume(1)
            state = .beforeMember
        case UInt8(ascii: "}"):
            window.consume(1)
            try end()
        case nil: throw ValueFinder.truncated(at: window.offset)
        default: throw damaged("',' or '}' is missing behind a value")
        }
    }

    private func end() throws {
        guard try window.peek() == nil else { throw damaged("something follows the container") }
        guard schema != nil else {
            let known = schemas.map(\.name).joined(separator: ", ")
            throw notAContainer("it holds none of the datasets \(known)", "the array's name must be the dataset's; see the dataset file")
        }
        guard syncTimestamp != nil else {
            throw notAContainer("it has no syncTimestamp", "add \"syncTimestamp\" with the time at which the data was current")
        }
        state = .ended
    }

    // MARK: Entities

    private func fill(_ block: EntityBlock) throws {
        guard let entities, let schema else { return }
        block.clear()
        block.begin(columnCount: schema.columns.count)
        // The block's JSON is the entities without separators, each directly after the previous one.
        while block.raw.count < Self.blockBytes {
            guard let length = try nextElement() else {
                try endMember()
                break
            }
            block.raw.append(UnsafeRawBufferPointer(rebasing: window.bytes[..<length]))
            window.consume(length)
        }
        block.raw.seal()
        if let fault = UTF8Check.firstFault(in: block.raw.bytes) {
            throw damaged("text before here is not UTF-8 (\(block.raw.count - fault) bytes of JSON back)")
        }
        let scanner = JSONScanner(block.raw.bytes)
        var position = 0
        while position < scanner.end {
            do throws(EntityFault) {
                position = try entities.parse(scanner, at: position, into: block)
            } catch {
                throw fault(entity: recordCount, error.reason, column: error.column)
            }
            guard block.takeKey(entities.plan, entities, ordered: false) == nil else {
                throw fault(entity: recordCount, "the key is longer than \(FormatLimits.keyBytes) bytes", column: entities.plan.keyIndex)
            }
            block.count += 1
            recordCount += 1
        }
    }

    /// Moves the window to the array's next element and returns its length. After the last one, consumes the bracket and returns nil.
    private func nextElement() throws -> Int? {
        var next = try window.peek()
        if next == UInt8(ascii: "]") {
            window.consume(1)
            return nil
        }
        if !isFirstElement {
            guard next == UInt8(ascii: ",") || next == nil else { throw damaged("',' or ']' is missing behind an element") }
            window.consume(next == nil ? 0 : 1)
            next = try window.peek()
            guard next != UInt8(ascii: "]") else { throw damaged("an element is missing behind ','") }
        }
        isFirstElement = false
        let length = try values.gather()
        guard length > 0 else { throw damaged("an element is missing") }
        return length
    }

    // MARK: Values

    /// Checks that the window begins with a valid value of this length, and returns the length.
    private func checkedValue(_ length: Int) throws -> Int {
        let bytes = UnsafeRawBufferPointer(rebasing: window.bytes[..<length])
        guard UTF8Check.firstFault(in: bytes) == nil else { throw damaged("a value is not UTF-8") }
        do throws(JSONFault) {
            guard try JSONScanner(bytes).skipValue(0) == length else { throw JSONFault(offset: 0, reason: "a value is expected") }
        } catch {
            throw FormatError(.damaged, at: "file, byte \(window.offset + error.offset)", error.reason, hint: Self.hint)
        }
        return length
    }

    private func string(_ length: Int, _ what: String) throws -> [UInt8] {
        guard window.bytes.first == UInt8(ascii: "\"") else { throw damaged("\(what) is not a string") }
        _ = try checkedValue(length)
        do throws(JSONFault) {
            return try JSONScanner(window.bytes).unescape(1, length - 1)
        } catch {
            throw FormatError(.damaged, at: "file, byte \(window.offset + error.offset)", error.reason, hint: Self.hint)
        }
    }

    private func require(_ byte: UInt8, _ what: String) throws {
        guard let next = try window.peek() else { throw ValueFinder.truncated(at: window.offset) }
        guard next == byte else { throw damaged("\(what) is missing behind a key") }
        window.consume(1)
    }

    // MARK: Errors

    private static let hint = "the file must be strict JSON (RFC 8259) in UTF-8"

    private func damaged(_ reason: String) -> FormatError {
        FormatError(.damaged, at: "file, byte \(window.offset)", reason, hint: Self.hint)
    }

    private func notAContainer(_ reason: String, _ hint: String) -> FormatError {
        FormatError(.notAContainer, at: "file", reason, hint: hint)
    }

    private func fault(entity: Int, _ reason: String, column: Int?) -> FormatError {
        let name = schema?.name ?? "file"
        let place = "\(name), entity \(entity)" + (column.flatMap { schema?.columns[$0].name }.map { ", column \($0)" } ?? "")
        return FormatError(.badEntity, at: place, reason, hint: "correct the entity in the file; entities count from 0")
    }
}

/// Finds the ends of JSON values in a text that is read in pieces, so that each value can be parsed as a whole.
///
/// Looks only at strings and brackets; the parser of the value checks everything else.
struct ValueFinder {
    let window: InputWindow
    /// The maximum size of a value, in bytes.
    let limit: Int

    /// Moves the window to the next value, consumes the white space before it, reads the whole value, and returns its length.
    ///
    /// - Throws: ``FormatError`` with `.truncated` if the file ends before the value does, `.tooLarge` beyond the limit.
    func gather() throws -> Int {
        switch try window.peek() {
        case nil: throw Self.truncated(at: window.offset)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return try gatherContainer()
        case UInt8(ascii: "\""): return try gatherString(from: 0)
        default: return try gatherScalar()
        }
    }

    /// Returns the position after the string whose opening quote is at `start`.
    private func gatherString(from start: Int) throws -> Int {
        var position = start + 1
        while true {
            let bytes = window.bytes
            position = JSONScanner(bytes).plainEnd(position)
            // Skip at least two bytes of an escape; the rest of it is plain text.
            if position == bytes.count || (bytes[position] == UInt8(ascii: "\\") && position + 1 == bytes.count) {
                try more()
            } else if bytes[position] == UInt8(ascii: "\"") {
                return position + 1
            } else {
                position += bytes[position] == UInt8(ascii: "\\") ? 2 : 1
            }
        }
    }

    private func gatherContainer() throws -> Int {
        var depth = 0
        var position = 0
        while true {
            let bytes = window.bytes
            while position < bytes.count {
                let byte = bytes[position]
                if byte == UInt8(ascii: "\"") { break }
                position += 1
                // '[' and '{' differ in one bit, and so do ']' and '}'.
                if byte | 0x20 == UInt8(ascii: "{") { depth += 1 }
                if byte | 0x20 == UInt8(ascii: "}") {
                    depth -= 1
                    if depth == 0 { return position }
                }
            }
            if position < bytes.count { position = try gatherString(from: position) } else { try more() }
        }
    }

    private func gatherScalar() throws -> Int {
        var position = 0
        while true {
            let bytes = window.bytes
            while position < bytes.count {
                switch bytes[position] {
                case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09: return position
                default: position += 1
                }
            }
            try more()
        }
    }

    private func more() throws {
        guard window.bytes.count < limit else {
            throw FormatError(
                .tooLarge, at: "file, byte \(window.offset)", "one value is larger than \(limit >> 20) MiB",
                hint: "keep large contents outside the dataset and refer to them")
        }
        guard try window.fill() else { throw Self.truncated(at: window.offset + window.bytes.count) }
    }

    static func truncated(at offset: Int) -> FormatError {
        FormatError(.truncated, at: "file", "it ends at byte \(offset) of its text, in the middle", hint: "copy the file again")
    }
}
