package import LocalStore
package import LocalTables
package import SnapshotFormat
package import SnapshotModel
package import StrictText

extension SnapshotTailBuilder {
    /// Adds the instants of the entities of the database's next version. Each is stored by key; if there are many, instants that consecutive
    /// entities share are stored as runs.
    ///
    /// - Parameter limit: the largest number of entities that are stored by key.
    package mutating func addInstants(of schema: DatasetSchema, in transaction: LocalTransaction, joiningBeyond limit: Int = singleLimit) throws {
        let tables = transaction.tombstonesAndInstants
        guard try tables.hasInstants(of: schema, moreThan: limit) else {
            return try tables.forEachInstant(of: schema) { add($1, $2, of: $0) }
        }
        var joiner = InstantRunJoiner()
        try tables.forEachEntity(of: schema) { key, instants, own, isHeld in
            if isHeld {
                // A held entity is in no run.
                joiner.finish(into: &self)
                if let instants { add(instants, own, of: key) }
            } else {
                joiner.append(key, instants?.entries(own: own) ?? [], into: &self)
            }
        }
        joiner.finish(into: &self)
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
        try transaction.tombstonesAndInstants.forEachInstant(of: schema, onlyChanged: true) { add($1, undated.contains($0) ? nil : $2, of: $0) }
    }

    private mutating func add(_ instants: RowInstants, _ own: Instant?, of key: EntityKey) {
        for (part, at) in instants.entries(own: own) { add(part, at, of: key) }
    }
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
