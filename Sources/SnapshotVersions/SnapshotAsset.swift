package import CloudStore
package import LocalTables
package import SnapshotFormat
package import SnapshotModel
package import StrictText

/// One version of one dataset in the cloud. Its index and head are checked; its blocks are not read yet.
package struct SnapshotAsset: Sendable {
    /// `notifications@42`: the dataset and the version, for errors.
    package let place: String
    package let fields: DatasetRecord
    package let reader: any AssetReader
    package let index: SnapshotIndex
    /// When the asset's own version was made. It is also the dataset's timestamp, unless change assets follow.
    package private(set) var syncTimestamp: Instant

    /// Opens the asset of a record. If `dataset` is nil, any dataset is accepted.
    ///
    /// - Throws: ``SyncError`` with `.tryAgainLater` if the file has not arrived, `.dataRefused` if record, file, index and head
    ///   do not belong together.
    package init(of record: CloudRecord, dataset: String?, in cloud: CloudDatabase, zone: ZoneID) async throws {
        place = "\(dataset ?? record.name)@\(record.changeTag ?? "?")"
        guard let fields = DatasetRecord(record) else {
            throw SyncError(
                .dataRefused, step: .fetch, at: place,
                "the record \(record.name) lacks dataFile, syncTimestamp or recordCount, or its change assets do not follow one another",
                hint: "update snapsync, or have the writer publish again")
        }
        self.fields = fields
        syncTimestamp = fields.syncTimestamp
        reader = try await cloud.openAsset(fields.dataFile, in: zone)
        guard let data = try SyncError.at(.fetch, { [reader] in try reader.index() }) else {
            throw SyncError(.dataRefused, step: .verify, at: place, "the asset has no block index", hint: Self.hint)
        }
        let index = try Self.step(.verify, of: place) { try SnapshotIndex.decode(data) }
        self.index = index
        let isConsistent =
            index.dataset == dataset ?? index.dataset && index.size == fields.dataFile.byteCount && index.size == reader.byteCount
            && index.rawSize == fields.dataFile.rawByteCount && (!fields.changeFiles.isEmpty || index.recordCount == fields.recordCount)
        guard isConsistent else {
            throw SyncError(.dataRefused, step: .verify, at: place, "the block index does not fit the record and the file", hint: Self.hint)
        }
        let header = try readMember(index.header, name: "header")
        let head = try step(.verify) { try header.withBytes { try SnapshotHeader.parse($0) } }
        syncTimestamp = head.syncTimestamp
        guard head.dataset == index.dataset, fields.changeFiles.isEmpty ? head.syncTimestamp == fields.syncTimestamp : head.syncTimestamp < fields.syncTimestamp
        else {
            throw SyncError(.dataRefused, step: .verify, at: place, "the asset's head names another dataset or time than the record", hint: Self.hint)
        }
    }

    /// Reads, checks and decompresses the header or the tail.
    package func readMember(_ entry: MemberEntry, name: String) throws -> ByteBuffer {
        let compressed = try fetch(entry, into: ByteBuffer())
        let raw = ByteBuffer()
        try step(.verify) { try compressed.withBytes { try MemberReader(boxes: reader.boxes).inflate($0, entry: entry, name: name, into: raw) } }
        return raw
    }

    /// Reads a member's stored bytes.
    @discardableResult
    func fetch(_ entry: MemberEntry, into buffer: ByteBuffer) throws -> ByteBuffer {
        try SyncError.at(.fetch) { try buffer.fill(entry.length) { try reader.read(into: $0, at: entry.offset) } }
        return buffer
    }

    /// Reads the tail, checks it, and returns which entities it names, so that their keys can be checked too.
    ///
    /// Memory: the tail's text, and the keys that it names.
    @discardableResult
    package func checkTail() throws -> TailKeys {
        let tail = try readMember(index.tail, name: "tail")
        var keys = TailKeys(place: place)
        _ = try step(.verify) {
            try tail.withBytes {
                try SnapshotTail.read(
                    $0, .init(index, at: syncTimestamp),
                    visitor: .init(
                        held: { key, _ in keys.held.insert(key) }, deletion: { key, _ in keys.gone.insert(key) },
                        instant: { part, key, at in if !keys.held.contains(key) { keys.runs.add(InstantRun(first: key, last: key, at: at), of: part) } },
                        run: { keys.runs.add($1, of: $0) }))
            }
        }
        return keys
    }

    /// Passes on the contents of the tail. Instants come in no particular order.
    ///
    /// For a run of entities it reads the keys from the blocks. Memory: the tail's text, and a few blocks.
    ///
    /// - Parameters:
    ///   - wanted: the schema by which held entities are decoded; nil for the asset's own.
    ///   - withRuns: whether instants of runs are wanted.
    package func readTail(as wanted: DatasetSchema? = nil, _ visitor: SnapshotTail.Visitor, withRuns: Bool = true) throws {
        let tail = try readMember(index.tail, name: "tail")
        var runs = TailRuns()
        var single = visitor
        single.run = { part, run in
            guard withRuns else { return }
            runs.add(run, of: part)
            guard runs.count >= Self.runsAtATime else { return }
            try readKeys(of: runs, visitor)
            runs = TailRuns()
        }
        _ = try step(.verify) { try tail.withBytes { try SnapshotTail.read($0, .init(index, as: wanted, at: syncTimestamp), visitor: single) } }
        try readKeys(of: runs, visitor)
    }

    /// How many runs are resolved in one pass over the blocks.
    private static let runsAtATime = 10_000

    /// Passes on each entity of these runs with its run's instant.
    private func readKeys(of runs: TailRuns, _ visitor: SnapshotTail.Visitor) throws {
        guard let bounds = runs.bounds else { return }
        let numbers = index.blocks.indices.filter { number in
            !(bounds.last < index.blocks[number].firstKey) && (range(ofBlock: number).next.map { bounds.first < $0 } ?? true)
        }
        var waiting = runs
        let schema = try schema()
        try BlockPipeline(asset: self, blocks: numbers, workerCount: WorkerThreads.count).run(.entities(schema)) { _, block in
            let keys = EntityKeys(schema)
            try block.send(to: keys)
            for key in keys.keys {
                guard try waiting.take(key, visitor.instant) else { throw Self.strayEntity(place) }
            }
        }
        guard waiting.isEmpty else { throw Self.strayEntity(place) }
    }

    /// The error about a tail that names an entity that the asset does not have.
    package static func strayEntity(_ place: String) -> SyncError {
        SyncError(.dataRefused, step: .verify, at: "tail of \(place)", "it has an instant of an entity that is not there", hint: hint)
    }

    /// The error about a tail that says of an entity of the asset that it is held or deleted.
    package static func doubledEntity(_ key: EntityKey, _ place: String) -> SyncError {
        SyncError(
            .dataRefused, step: .verify, at: "tail of \(place)", "the entity \(key) is in two of: the entities, the held ones, the deleted ones", hint: hint)
    }

    /// The schema that the asset's index states.
    package func schema() throws -> DatasetSchema {
        try SyncError.at(.verify) { try index.schema(table: index.dataset) }
    }

    /// The keys that belong to a block (``SnapshotIndex/range(ofBlock:)``).
    package func range(ofBlock number: Int) -> KeyRange { index.range(ofBlock: number) }

    /// Runs `body` and adds the dataset and the version to an error of the format.
    package func step<T>(_ step: SyncStep, _ body: () throws -> T) throws -> T { try Self.step(step, of: place, body) }

    static func step<T>(_ step: SyncStep, of place: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch var error as SyncError where error.format != nil && error.step == nil {
            (error.step, error.place, error.hint) = (step, "\(error.place) of \(place)", Self.hint(for: error))
            throw error
        }
    }

    /// The hint for a file of the cloud that the format refuses: the error's own, unless the file is damaged.
    static func hint(for error: SyncError) -> String {
        switch error.format {
        case .damaged, .hashMismatch, .truncated: hint
        default: error.hint ?? hint
        }
    }

    /// The hint for a damaged file of the cloud.
    package static let hint =
        "if a sync tool is still copying the file, wait; else run snapsync repair; if it cannot be mended, have the writer run: snapsync export --full"
}

/// The entities that the tail of a snapshot asset names, for a check against those that the asset has.
///
///     var keys = try asset.checkTail()
///     for key in … { try keys.require(key) }      // every entity of the asset, in key order
///     try keys.finish()
package struct TailKeys {
    let place: String
    /// The entities with instants.
    var runs = TailRuns()
    /// The entities that are in no table.
    var held: Set<EntityKey> = []
    /// The deleted entities.
    var gone: Set<EntityKey> = []

    init(place: String) { self.place = place }

    /// Whether the tail names no entity, so that nothing has to be checked.
    package var isEmpty: Bool { runs.isEmpty && held.isEmpty && gone.isEmpty }

    /// Takes the asset's next entity.
    package mutating func require(_ key: EntityKey) throws {
        guard runs.take(key, { _, _, _ in }) else { throw SnapshotAsset.strayEntity(place) }
        guard !held.contains(key), !gone.contains(key) else { throw SnapshotAsset.doubledEntity(key, place) }
    }

    /// Ends the check after the asset's last entity.
    package func finish() throws {
        guard runs.isEmpty else { throw SnapshotAsset.strayEntity(place) }
    }
}

/// Runs of several lists that are resolved together.
struct TailRuns {
    private(set) var lists: [(part: InstantPart, runs: ArraySlice<InstantRun>, isInside: Bool)] = []
    private(set) var count = 0
    /// The keys between which all runs lie; nil if there are none.
    private(set) var bounds: (first: EntityKey, last: EntityKey)?

    mutating func add(_ run: InstantRun, of part: InstantPart) {
        if lists.last?.part == part { lists[lists.count - 1].runs.append(run) } else { lists.append((part, [run], false)) }
        count += 1
        bounds = bounds.map { (min($0.first, run.first), max($0.last, run.last)) } ?? (run.first, run.last)
    }

    var isEmpty: Bool { lists.allSatisfy { $0.runs.isEmpty } }

    /// Takes the next key of the asset.
    ///
    /// - Returns: false if a run begins or ends with an entity that is not there.
    mutating func take(_ key: EntityKey, _ visit: (InstantPart, EntityKey, Instant?) throws -> Void) rethrows -> Bool {
        for number in lists.indices {
            guard let run = lists[number].runs.first else { continue }
            if !lists[number].isInside {
                if key < run.first { continue }
                guard key == run.first else { return false }
                lists[number].isInside = true
            }
            guard !(run.last < key) else { return false }
            try visit(lists[number].part, key, run.at)
            if key == run.last {
                lists[number].isInside = false
                lists[number].runs.removeFirst()
            }
        }
        return true
    }
}
