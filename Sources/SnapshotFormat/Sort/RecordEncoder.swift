package import SnapshotModel

/// The layout of a record of an external sort: the lengths of key and entity, 4 bytes each in the machine's order, then both.
enum SortRecord {
    static let headerBytes = 8
}

/// The records of a range of keys in one run.
package struct SortSlice: Sendable {
    package internal(set) var byteCount = 0
    /// The CRC-32 of its records, one after the other.
    package internal(set) var crc: UInt32 = 0

    /// The CRC-32 of bytes, continued from that of the previous bytes.
    package static func crc(_ bytes: UnsafeRawBufferPointer, after crc: UInt32 = 0) -> UInt32 { GzipMember.crc(bytes, after: crc) }
}

/// The memory of one worker of an external sort: for a run, and then for a range of keys. One thread at a time.
package final class SortMemory {
    /// Room for the entity that completes a run; a larger one enlarges the buffer.
    private static let room = 64 << 10

    let runBytes: Int
    let buffer: ByteBuffer

    /// - Parameter runBytes: how large a run becomes, in bytes. A range of keys should be no larger.
    package init(runBytes: Int) {
        self.runBytes = runBytes
        buffer = ByteBuffer(capacity: runBytes + Self.room)
    }

    func reset() {
        buffer.clear()
        buffer.trim(to: runBytes + Self.room)
    }
}

/// Encodes entities in any order as records of an external sort, and collects them in runs.
///
/// A run has the records of each range of keys together. Memory: one run.
package final class RecordEncoder: EntitySink {
    private struct Record {
        let offset: Int
        let byteCount: Int
        let range: Int
    }

    private let plan: SchemaPlan
    private let entities: EntityEncoder
    private let bounds: KeyBounds
    private let spill: (_ records: [UnsafeRawBufferPointer], _ slices: [SortSlice]) throws -> Void
    private let memory: SortMemory
    private var records: [Record] = []
    private var keyBytes: [UInt8] = []
    private var sortKey: [UInt8] = []
    /// How many entities were taken.
    package private(set) var count = 0

    /// - Parameters:
    ///   - memory: decides how large a run becomes before it is passed to `spill`.
    ///   - spill: receives the records of a run by ranges of keys, and the slice of each range.
    package init(
        schema: DatasetSchema, bounds: KeyBounds, memory: SortMemory,
        spill: @escaping (_ records: [UnsafeRawBufferPointer], _ slices: [SortSlice]) throws -> Void
    ) {
        plan = SchemaPlan(schema)
        entities = EntityEncoder(plan)
        self.bounds = bounds
        self.spill = spill
        self.memory = memory
    }

    /// Takes one entity.
    ///
    /// - Throws: ``SyncError`` with `.badRow` or `.tooLarge`, naming dataset, key and column, or what `spill` throws. The encoder is unusable
    ///   after an error.
    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws {
        sortKey.removeAll(keepingCapacity: true)
        try entities.withKey(values, using: &keyBytes) { SortKey.append($0, to: &sortKey) }
        try sortKey.withUnsafeBytes { try add(values, key: $0) }
    }

    private func add(_ values: UnsafeBufferPointer<ColumnValue>, key: UnsafeRawBufferPointer) throws {
        let buffer = memory.buffer
        let offset = buffer.count
        var cursor = ByteCursor(buffer)
        cursor.reserve(SortRecord.headerBytes + key.count)
        cursor.at += SortRecord.headerBytes
        cursor.append(key)
        cursor.finish()
        let entity = buffer.count
        try entities.encode(values, into: buffer)
        let header = UnsafeMutableRawPointer(buffer.base + offset)
        header.storeBytes(of: UInt32(key.count), as: UInt32.self)
        header.storeBytes(of: UInt32(buffer.count - entity), toByteOffset: 4, as: UInt32.self)
        records.append(Record(offset: offset, byteCount: buffer.count - offset, range: bounds.range(of: key)))
        count += 1
        if buffer.count >= memory.runBytes { try finish() }
    }

    /// Passes the records on that are left.
    package func finish() throws {
        guard !records.isEmpty else { return }
        let buffer = memory.buffer
        // A counting sort.
        var places = [Int](repeating: 0, count: bounds.count + 1)
        var slices = [SortSlice](repeating: SortSlice(), count: bounds.count)
        for record in records { places[record.range + 1] += 1 }
        for range in 0..<bounds.count { places[range + 1] += places[range] }
        var sorted = [UnsafeRawBufferPointer](repeating: UnsafeRawBufferPointer(start: nil, count: 0), count: records.count)
        for record in records {
            let bytes = UnsafeRawBufferPointer(start: buffer.base + record.offset, count: record.byteCount)
            sorted[places[record.range]] = bytes
            places[record.range] += 1
            slices[record.range].byteCount += record.byteCount
            slices[record.range].crc = SortSlice.crc(bytes, after: slices[record.range].crc)
        }
        try withExtendedLifetime(buffer) { try spill(sorted, slices) }
        records.removeAll(keepingCapacity: true)
        memory.reset()
    }
}
