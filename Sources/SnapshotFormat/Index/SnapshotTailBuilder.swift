package import SnapshotModel
package import StrictText

/// Collects what a snapshot says of its entities, and makes its tail.
///
///     var tail = SnapshotTailBuilder()
///     tail.addDeletion(of: key, at: instant)       // in key order, as every list
///     let index = try assembly.end(tail)
///
/// Memory: the tail's text, at most ``FormatLimits/tailRawBytes``. Source: docs/format.md, "The tail".
package struct SnapshotTailBuilder {
    /// The largest number of entities whose instants a writer states one by one. Beyond it, consecutive entities share runs.
    package static let singleLimit = 20_000

    private var held: [UInt8] = []
    private var deletions: [UInt8] = []
    private var instants: [InstantPart: [UInt8]] = [:]
    /// The length of the lists of instants, in bytes.
    package private(set) var instantByteCount = 0

    /// Makes an empty tail.
    package init() {}

    /// Adds an entity that is in no table: its canonical JSON.
    package mutating func addHeld(_ entity: UnsafeRawBufferPointer) {
        if !held.isEmpty { held.append(UInt8(ascii: ",")) }
        held += entity
    }

    /// Adds a tombstone.
    package mutating func addDeletion(of key: EntityKey, at instant: Instant) {
        Self.begin("id", key, to: &deletions)
        Self.end(",\"deletedAt\":\"", instant, to: &deletions)
    }

    /// Adds an entity's instant; nil for its own timestamp, which only a column can have.
    package mutating func add(_ part: InstantPart, _ instant: Instant?, of key: EntityKey) {
        change(part) {
            Self.begin("id", key, to: &$0)
            Self.end(",\"at\":\"", instant, to: &$0)
        }
    }

    /// Adds the instant of a run of entities.
    package mutating func add(_ part: InstantPart, of run: InstantRun) {
        change(part) {
            Self.begin("from", run.first, to: &$0)
            $0 += ",\"to\":".utf8
            Self.add(run.last, to: &$0)
            Self.end(",\"at\":\"", run.at, to: &$0)
        }
    }

    private mutating func change(_ part: InstantPart, _ body: (inout [UInt8]) -> Void) {
        // Taken out of the table, so that the bytes are not copied.
        var list = instants.removeValue(forKey: part) ?? []
        instantByteCount -= list.count
        body(&list)
        instantByteCount += list.count
        instants[part] = list
    }

    /// The length of the tail's text, in bytes.
    package var byteCount: Int { pieces.reduce(0) { $0 + $1.count } }

    /// The tail's text, in pieces.
    private var pieces: [[UInt8]] {
        func list(_ name: String, _ entries: [UInt8]?) -> [[UInt8]] {
            guard let entries, !entries.isEmpty else { return [] }
            return [Array(",\"\(name)\":[".utf8), entries, Array("]".utf8)]
        }
        let columns = instants.compactMap { part, list -> (name: ExactText, list: [UInt8])? in
            if case .column(let name) = part { (name, list) } else { nil }
        }.sorted { $0.name < $1.name }
        var named: [[UInt8]] = []
        for (number, one) in columns.enumerated() {
            named += [Array((number == 0 ? ",\"columns\":{" : ",").utf8), Self.quoted(one.name), Array(":[".utf8), one.list, Array("]".utf8)]
        }
        if !columns.isEmpty { named.append(Array("}".utf8)) }
        return [Array("\n]".utf8)] + list("held", held) + list("deletions", deletions) + list("instants", instants[.row])
            + list("born", instants[.born]) + named + [Array("}\n".utf8)]
    }

    /// The tail's text.
    ///
    /// - Throws: ``SyncError`` with `.tooLarge`.
    package func text() throws -> ByteBuffer {
        let count = byteCount
        guard count <= FormatLimits.tailRawBytes else {
            throw SyncError(
                format: .tooLarge, at: "tail", "the tombstones, instants and held rows are larger than \(FormatLimits.tailRawBytes >> 20) MiB",
                hint: "sync more often while rows are deleted, or have the application set the timestamp column whenever it changes a row")
        }
        // Allocate the full size at once, so that megabytes are copied only once.
        let buffer = ByteBuffer(capacity: count)
        for piece in pieces { piece.withUnsafeBytes { buffer.append($0) } }
        return buffer
    }

    /// The tail's text, once it has been read as every other device will read it: a version that no device can read would stop all of them.
    ///
    /// - Throws: ``SyncError`` with `.tooLarge`, or with `.badRow` if a reader would refuse the tail.
    func text(readAs form: SnapshotTail.Form) throws -> ByteBuffer {
        let text = try text()
        do {
            _ = try text.withBytes { try SnapshotTail.read($0, form) }
        } catch let error as SyncError where error.format != nil {
            throw SyncError(
                format: .badRow, at: "dataset \(form.schema.name), \(error.place)",
                "no device could read what the version would say of its rows: \(error.reason)",
                hint: "run snapsync check --local; if that finds nothing, keep a copy of the database, then: snapsync detach, and snapsync init …")
        }
        return text
    }

    private static func begin(_ label: StaticString, _ key: EntityKey, to list: inout [UInt8]) {
        list += (list.isEmpty ? "{\"\(label)\":" : ",{\"\(label)\":").utf8
        add(key, to: &list)
    }

    private static func add(_ key: EntityKey, to list: inout [UInt8]) {
        if case .integer(let value) = key {
            list += String(value).utf8
        } else {
            let buffer = ByteBuffer(capacity: key.byteCount * 6 + 2)
            var cursor = ByteCursor(buffer)
            cursor.append(key: key)
            cursor.finish()
            buffer.withBytes { list += $0 }
        }
    }

    private static func end(_ label: String, _ instant: Instant?, to list: inout [UInt8]) {
        if let instant {
            list += label.utf8
            list += instant.description.utf8
            list.append(UInt8(ascii: "\""))
        }
        list.append(UInt8(ascii: "}"))
    }

    private static func quoted(_ name: ExactText) -> [UInt8] {
        let buffer = ByteBuffer()
        var cursor = ByteCursor(buffer)
        var text = name.description
        text.withUTF8 { _ = cursor.appendString(UnsafeRawBufferPointer($0)) }
        cursor.finish()
        return buffer.withBytes { Array($0) }
    }
}
