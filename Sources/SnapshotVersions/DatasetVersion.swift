package import CloudStore
import Foundation
package import LocalTables
package import SnapshotFormat
package import SnapshotModel
import StrictText

/// One version of one dataset: a snapshot asset with the change assets after it.
///
///     let version = try await DatasetVersion(record, as: schema, in: cloud, zone: zone)
///     try version.read(version.runs().indices.map(\.self)) { run in try run.send(to: sink) }
///
/// Opening checks the record, the block index and the head. It opens the change assets too, so that a missing file is noticed at once; they are
/// read when the first entity is requested. The entities come in runs: each is a block of the snapshot asset with the changes in its range of
/// keys applied. Memory: a few runs, and the changes. Only one thread at a time may read entities.
package struct DatasetVersion: Sendable {
    /// A run of consecutive entities. Every version has at least one run.
    package struct Run: Hashable, Sendable {
        let firstKey: EntityKey?
        package let count: Int
        /// Runs with the same first key and hash have the same entities. Nil if change assets touch the run, because its hash is then unknown.
        package let hash: SnapshotFormat.ContentHash?
    }

    /// A run that was read. It owns the bytes of its entities' values.
    package struct Entities {
        package let number: Int
        /// Fields in the JSON that the schema does not have.
        package let unknownFields: Set<String>
        fileprivate let body: (any EntitySink) throws -> Void

        /// Passes the run's entities to the sink, in key order.
        package func send(to sink: any EntitySink) throws { try body(sink) }
    }

    /// The schema by which entities are decoded.
    package let schema: DatasetSchema
    /// The snapshot asset, opened.
    package let snapshot: SnapshotAsset
    /// The change assets after it, opened, oldest first.
    package let changes: [ChangeAsset]
    private let contents: VersionContents

    /// Opens the dataset version that a record describes.
    ///
    /// - Parameter schema: the schema by which entities are decoded; nil for the version's own.
    /// - Throws: ``SyncError`` with `.tryAgainLater` if a file has not arrived, `.dataRefused` if record, file, index and head do not belong
    ///   together, `.refused` if the version was written with another key or other shapes than the schema's.
    package init(_ record: CloudRecord, as schema: DatasetSchema? = nil, in cloud: CloudDatabase, zone: ZoneID) async throws {
        let snapshot = try await SnapshotAsset(of: record, dataset: schema?.name, in: cloud, zone: zone)
        if let schema, let contradiction = snapshot.index.contradiction(of: schema) {
            throw SyncError(
                .refused, step: .verify, at: snapshot.place, "this version is another dataset than this device's: \(contradiction)",
                hint:
                    "to take over the zone's: drop the table \(schema.table) here (a rename would take foreign keys along; copy its rows first if you need them), then take the dataset \(schema.name) out and in again with tables remove and tables adopt --create (the only dataset: detach, and join again); with dataset files, make the two agree"
            )
        }
        let changes = try await ChangeAsset.open(snapshot.fields.chain, dataset: snapshot.index.dataset, in: cloud, zone: zone)
        self.init(snapshot, changes, schema: try schema ?? snapshot.schema())
    }

    private init(_ snapshot: SnapshotAsset, _ changes: [ChangeAsset], schema: DatasetSchema) {
        self.snapshot = snapshot
        self.changes = changes
        self.schema = schema
        contents = VersionContents(snapshot.index, changes, schema: schema)
    }

    /// Reads the change assets and returns the version. After this, only a block of the snapshot asset can turn out to be damaged.
    package func loaded() throws -> DatasetVersion {
        _ = try contents.overlay()
        return self
    }

    /// The same version, with its entities decoded by another schema.
    package func giving(_ schema: DatasetSchema) -> DatasetVersion { schema == self.schema ? self : DatasetVersion(snapshot, changes, schema: schema) }

    /// `notifications@42`, for errors.
    package var place: String { snapshot.place }

    package var fields: DatasetRecord { snapshot.fields }

    /// How many entities the version has.
    package var recordCount: Int { fields.recordCount }

    /// The entities, cut into runs.
    package func runs() throws -> [Run] { try contents.runs() }

    /// The keys that belong to a run. The ranges of all runs together cover all possible keys.
    package func range(of run: Int) -> KeyRange { snapshot.range(ofBlock: run) }

    /// Reads runs, in ascending order, on all cores.
    package func read(_ runs: [Int], take: (Entities) throws -> Void) throws {
        let overlay = try contents.overlay()
        guard !snapshot.index.blocks.isEmpty else {
            guard !runs.isEmpty else { return }
            return try take(entities(nil, of: 0, overlay))
        }
        try BlockPipeline(asset: snapshot, blocks: runs, workerCount: WorkerThreads.count).run(.entities(schema)) { try take(entities($1, of: $0, overlay)) }
    }

    /// Reads the runs that change assets touch.
    package func readChanged(take: (Entities) throws -> Void) throws {
        let runs = try runs()
        try read(runs.indices.filter { runs[$0].hash == nil }, take: take)
    }

    /// A cursor that reads the runs one at a time, on demand.
    package func cursor(_ runs: [Int]) -> VersionCursor { VersionCursor(self, runs) }

    /// Passes on what the version states of its entities, in no particular order. It has no runs.
    package func readTail(_ visitor: SnapshotTail.Visitor) throws {
        let overlay = try contents.overlay()
        try snapshot.readTail(
            as: schema,
            .init(
                held: { if overlay.change(of: $0) == nil { try visitor.held($0, $1) } },
                deletion: { if overlay.change(of: $0) == nil { try visitor.deletion($0, $1) } },
                instant: { if overlay.change(of: $1) == nil { try visitor.instant($0, $1, $2) } }))
        for key in overlay.keys {
            switch overlay.change(of: key) {
            case .deleted(let at): try visitor.deletion(key, at)
            case .present(let instants): try instants.forEach { try visitor.instant($0, key, $1) }
            case .held(let instants, let entity):
                try EntityDocument.read(entity, of: schema) { try visitor.held(key, $0) }
                try instants.forEach { try visitor.instant($0, key, $1) }
            case nil: break
            }
        }
    }

    /// Passes on the entities that the version holds, each as a block that is valid during the call.
    package func readHeld(_ body: @escaping (EntityBlock) throws -> Void) throws {
        let overlay = try contents.overlay()
        try snapshot.readTail(as: schema, .init(held: { if overlay.change(of: $0) == nil { try body($1) } }), withRuns: false)
        for key in overlay.keys { if case .held(_, let entity) = overlay.change(of: key) { try EntityDocument.read(entity, of: schema, body) } }
    }

    /// The tail text that a snapshot asset of this version has.
    package func tailText() throws -> ByteBuffer {
        let overlay = try contents.overlay()
        let own = OwnInstants(schema: schema)
        try readChanged { try $0.send(to: FilteringSink(own, schema) { overlay.change(of: $0) != nil }) }
        var held: [(key: EntityKey, text: String)] = [], deletions: [(key: EntityKey, at: Instant)] = []
        var lists: [InstantPart: [(key: EntityKey, at: Instant?)]] = [:]
        try readTail(
            .init(
                held: { key, block in
                    if let text = try EntityDocument.make(schema, { try block.send(to: $0) }) { held.append((key, text)) }
                    try block.send(to: own)
                },
                deletion: { deletions.append(($0, $1)) },
                instant: { part, key, at in
                    // Of an entity in a change asset, the tail of a snapshot asset leaves out what its timestamp says.
                    lists[part, default: []].append((key, part != .row && at == own.instants[key] ? nil : at))
                }))
        var tail = SnapshotTailBuilder()
        for one in held.sorted(by: { $0.key < $1.key }) {
            var text = one.text
            text.withUTF8 { tail.addHeld(UnsafeRawBufferPointer($0)) }
        }
        for one in deletions.sorted(by: { $0.key < $1.key }) { tail.addDeletion(of: one.key, at: one.at) }
        let apart = Set(held.map(\.key)), sorted = lists.mapValues { $0.sorted { $0.key < $1.key } }
        guard sorted.values.contains(where: { $0.count > SnapshotTailBuilder.singleLimit }) else {
            for (part, list) in sorted { for one in list { tail.add(part, one.at, of: one.key) } }
            return try tail.text()
        }
        for (part, list) in sorted {
            // Held entities are in no run, and come where their keys have their place.
            var joiner = InstantRunJoiner(), rest = list[...]
            func appendHeld(before key: EntityKey?) {
                while let next = rest.first, key.map({ next.key < $0 }) ?? true {
                    rest.removeFirst()
                    guard apart.contains(next.key) else { continue }
                    joiner.finish(into: &tail)
                    tail.add(part, next.at, of: next.key)
                }
            }
            let keys = EntityKeys(schema)
            try read(Array(runs().indices)) { run in
                keys.clear()
                try run.send(to: keys)
                for key in keys.keys {
                    appendHeld(before: key)
                    let isNext = rest.first?.key == key
                    joiner.append(key, isNext ? [(part, rest.removeFirst().at)] : [], into: &tail)
                }
            }
            appendHeld(before: nil)
            joiner.finish(into: &tail)
        }
        return try tail.text()
    }

    private func entities(_ block: EntityBlock?, of number: Int, _ overlay: ChangeOverlay) -> Entities {
        let range = range(of: number)
        return Entities(number: number, unknownFields: block?.unknownFieldNames ?? []) { sink in
            try snapshot.step(.decode) { try overlay.send(block, from: range.first, upTo: range.next, to: sink) }
        }
    }

    /// All change assets combined.
    func overlay() throws -> ChangeOverlay { try contents.overlay() }

    /// Writes the version's container whole: the snapshot's blocks with the changes merged in.
    ///
    /// The bytes equal the decompressed bytes of a snapshot asset of this version. Memory: some blocks, and the changes.
    ///
    /// - Parameter write: takes the text in pieces; each piece is checked before.
    package func writeContainer(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        guard !changes.isEmpty else { return try writeSnapshot(to: write) }
        let overlay = try overlay()
        var head = SnapshotHeader(syncTimestamp: fields.syncTimestamp, dataset: snapshot.index.dataset).text
        try head.withUTF8 { try write(UnsafeRawBufferPointer($0)) }

        let text = EntityText(schema: schema)
        let parser = BlockParser(schema: schema)
        if snapshot.index.blocks.isEmpty { try snapshot.step(.decode) { try overlay.send(nil, from: nil, upTo: nil, to: text) } }
        try BlockPipeline(asset: snapshot, workerCount: WorkerThreads.count).run(.none) { number, block in
            let range = range(of: number)
            if overlay.keys(from: range.first, upTo: range.next).isEmpty {
                text.append(block: number, json: block.raw.bytes)
            } else {
                try snapshot.step(.decode) {
                    try parser.parse(block, number: number, of: snapshot.index)
                    try overlay.send(block, from: range.first, upTo: range.next, to: text)
                }
            }
            try write(text.bytes)
            text.clear()
        }
        try write(text.bytes)
        try snapshot.step(.encode) { try tailText() }.withBytes { try write($0) }
    }

    private func writeSnapshot(to write: (UnsafeRawBufferPointer) throws -> Void) throws {
        try snapshot.readMember(snapshot.index.header, name: "header").withBytes { try write($0) }
        try BlockPipeline(asset: snapshot, workerCount: WorkerThreads.count).run(.none) { try write($1.raw.bytes) }
        try snapshot.checkTail()
        try snapshot.readMember(snapshot.index.tail, name: "tail").withBytes { try write($0) }
    }
}

/// The change assets of a version and the runs that result from them. They are read once, on first use.
private final class VersionContents: @unchecked Sendable {
    // SAFETY: `known` is accessed only under `lock`. The overlay in it is used by one thread at a time, the one that reads the version's
    // entities.
    private let lock = NSLock()
    private var known: (overlay: ChangeOverlay, runs: [DatasetVersion.Run])?
    private let index: SnapshotIndex
    private let changes: [ChangeAsset]
    private let schema: DatasetSchema

    init(_ index: SnapshotIndex, _ changes: [ChangeAsset], schema: DatasetSchema) {
        (self.index, self.changes, self.schema) = (index, changes, schema)
    }

    func overlay() throws -> ChangeOverlay { try read().overlay }

    func runs() throws -> [DatasetVersion.Run] { try read().runs }

    private func read() throws -> (overlay: ChangeOverlay, runs: [DatasetVersion.Run]) {
        try lock.withLock {
            if let known { return known }
            let overlay = try ChangeOverlay(reading: changes, schema)
            let blocks = index.blocks
            let runs =
                blocks.isEmpty
                ? [DatasetVersion.Run(firstKey: nil, count: 0, hash: nil)]
                : blocks.indices.map { number in
                    let range = index.range(ofBlock: number)
                    let isTouched = !overlay.keys(from: range.first, upTo: range.next).isEmpty
                    return DatasetVersion.Run(
                        firstKey: blocks[number].firstKey, count: blocks[number].count, hash: isTouched ? nil : blocks[number].member.rawSHA256)
                }
            known = (overlay, runs)
            return (overlay, runs)
        }
    }
}

/// Reads runs of a version one at a time, on demand.
package final class VersionCursor {
    private let version: DatasetVersion
    private var numbers: ArraySlice<Int>
    /// The run that was read last, which owns the bytes of its values.
    private var current: DatasetVersion.Entities?

    init(_ version: DatasetVersion, _ runs: [Int]) { (self.version, numbers) = (version, runs[...]) }

    /// Returns the next run's entities, or nil after the last.
    package func next() throws -> [OwnedEntity]? {
        let owned = OwnedEntities(schema: version.schema)
        return try next(to: owned) ? owned.all : nil
    }

    /// Passes the next run's entities to a sink. The bytes of their values are valid until the next call.
    ///
    /// - Returns: false after the last run.
    package func next(to sink: any EntitySink) throws -> Bool {
        guard let number = numbers.popFirst() else { return false }
        try version.read([number]) { run in
            current = run
            try run.send(to: sink)
        }
        return true
    }
}
