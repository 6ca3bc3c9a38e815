package import LocalStore
package import LocalTables
package import SnapshotFormat
package import SnapshotModel
package import StrictText

extension SnapshotTailBuilder {
    /// Adds the instants of the entities of the database's next version. Each is stored by key; if the lists would exceed the limit, instants
    /// that consecutive entities share are stored as runs.
    ///
    /// - Parameters:
    ///   - rewritten: a table whose rows were all rewritten since the applied version.
    ///   - limit: the size of the lists of single entities, in bytes, above which runs are made.
    package mutating func addInstants(
        of schema: DatasetSchema, _ rewritten: RewrittenTable? = nil, in transaction: LocalTransaction, joiningBeyond limit: Int = plainByteLimit
    ) throws {
        let tables = transaction.tombstonesAndInstants
        if let rewritten, try addShort(of: rewritten, schema, tables, limit: limit) { return }
        if let rewritten {
            try tables.forEachEntity(of: schema, in: rewritten) { key, instants, own, _ in
                if let instants, instantByteCount <= limit { add(instants, own, of: key) }
            }
        } else {
            try tables.forEachInstant(of: schema) { key, instants, own in
                add(instants, own, of: key)
                return instantByteCount <= limit
            }
        }
        guard instantByteCount > limit else { return }
        removeInstants()
        var joiners: [InstantPart: InstantRunJoiner] = [:]
        func finish(_ parts: [InstantPart]) {
            for part in parts {
                guard var joiner = joiners.removeValue(forKey: part) else { continue }
                joiner.finish(into: &self)
            }
        }
        try tables.forEachEntity(of: schema, in: rewritten) { key, instants, own, isHeld in
            if isHeld {
                // A held entity is in no run.
                finish(Array(joiners.keys))
                if let instants { add(instants, own, of: key) }
                return
            }
            let entries = instants?.entries(own: own) ?? []
            if joiners.count > entries.count || joiners.keys.contains(where: { part in !entries.contains { $0.part == part } }) {
                finish(joiners.keys.filter { part in !entries.contains { $0.part == part } })
            }
            for (part, at) in entries { joiners[part, default: InstantRunJoiner(part)].append(key, .at(at), into: &self) }
        }
        finish(Array(joiners.keys))
    }

    /// Adds an entity that is in no table, from the JSON in which the database keeps it.
    package mutating func addHeld(_ entity: String, of schema: DatasetSchema) throws {
        var text = try EntityDocument.make(schema) { try EntityDocument.send(entity, of: schema.withoutShapes, to: $0) } ?? ""
        text.withUTF8 { addHeld(UnsafeRawBufferPointer($0)) }
    }

    /// Adds the instants of a change asset's entities.
    ///
    /// - Parameter undated: the entities that the asset has without their timestamps.
    package mutating func addChangedInstants(of schema: DatasetSchema, except undated: Set<EntityKey>, in transaction: LocalTransaction) throws {
        try transaction.tombstonesAndInstants.forEachInstant(of: schema, onlyChanged: true) { key, instants, own in
            add(instants, undated.contains(key) ? nil : own, of: key)
            return true
        }
    }

    private mutating func add(_ instants: RowInstants, _ own: Instant?, of key: EntityKey) {
        for (part, at) in instants.entries(own: own) { add(part, at, of: key) }
    }

    /// Adds the instants of a rewritten table without reading its rows, if that is possible.
    private mutating func addShort(of rewritten: RewrittenTable, _ schema: DatasetSchema, _ tables: TombstonesAndInstants, limit: Int) throws -> Bool {
        guard try !tables.hasInstants(of: schema) else { return false }
        guard let common = rewritten.common else {
            for (key, at) in rewritten.instants { if let at { add(.row, at, of: key) } }
            return true
        }
        guard rewritten.instants.isEmpty, rewritten.rowCount > limit / Self.leastInstantBytes else { return false }
        // All entities share the instants, so a single run of each list covers them.
        let ends = try tables.firstAndLastKey(of: schema)
        guard let first = ends.first, let last = ends.last else { return true }
        let columns = rewritten.columns ?? []
        let lists: [(InstantPart, Instant?)] =
            columns.isEmpty
            ? [(.row, common)] + (schema.timestampIndex == nil ? [] : [(.born, nil)])
            : columns.map { (.column(schema.columns[$0].name.exact), common) }
        for (part, at) in lists { add(part, of: InstantRun(first: first, last: last, at: at)) }
        return true
    }

    /// The minimum size of a single entity's instant: `{"id":1,"at":"2026-01-01T00:00:00Z"},`.
    private static let leastInstantBytes = 37
}

/// Stores what a version states of its entities in the database.
///
///     let tail = StoredTail(schema, in: transaction)
///     try asset.readTail(as: schema, tail.visitor)
///     try tail.finish(notAfter: asset.syncTimestamp)       // once the version's rows are in their table
///
/// Memory: the keys of the held entities.
package final class StoredTail {
    private let schema: DatasetSchema
    private let transaction: LocalTransaction
    private let own: OwnInstants
    private var heldKeys: [EntityKey] = []

    /// Removes what is stored of the applied version.
    package init(_ schema: DatasetSchema, in transaction: LocalTransaction, notAfter latest: Instant) throws {
        self.schema = schema
        self.transaction = transaction
        own = OwnInstants(schema: schema, notAfter: latest)
        try transaction.tombstonesAndInstants.clear(of: schema)
    }

    /// Stores what it gets.
    package var visitor: SnapshotTail.Visitor {
        let tables = transaction.tombstonesAndInstants, schema = schema, held = transaction.held
        return .init(
            held: { [self] key, block in
                if let text = try EntityDocument.make(schema.withoutShapes, { try block.send(to: $0) }) {
                    try held.put(key, entity: text, reason: HeldRows.published, in: schema)
                }
                try block.send(to: own)
                heldKeys.append(key)
            },
            deletion: { try tables.addTombstone(of: $0, at: $1, in: schema) }, instant: { try tables.add($0, $2, of: $1, in: schema) })
    }

    /// Completes the instants by the rows' own timestamps.
    package func finish(notAfter latest: Instant) throws {
        for key in heldKeys { try transaction.tombstonesAndInstants.date(held: key, own: own.instants[key] ?? .earliest, in: schema) }
        try transaction.tombstonesAndInstants.date(of: schema, notAfter: latest)
    }
}
