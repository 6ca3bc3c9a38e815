import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// Lets entities that were set aside come back where what kept them away is gone: the parent is there, the value is free.
struct SetAsideReturn {
    let datasets: [DatasetSchema]
    let transaction: LocalTransaction
    let ledger: ImportLedger

    /// Tries every one of them, parents' datasets first. Changes must not be noted meanwhile (``LocalTransaction/importing(_:)``).
    func run() throws {
        for schema in datasets {
            for one in try transaction.setAsideEntities(of: schema) where one.reason != .tooOld && !ledger.hasJustSetAside(one.key, of: schema) {
                guard let instant = try instantOnReturn(one, schema) else {
                    try transaction.dropSetAside(one.key, of: schema)
                    continue
                }
                if try comesBack(one, schema, at: instant) {
                    try transaction.dropSetAside(one.key, of: schema)
                    ledger.note(one.key, schema, "came back that had been set aside")
                }
            }
        }
    }

    /// The instant with which the entity would come back; nil if something later has taken its place.
    private func instantOnReturn(_ one: SetAsideEntity, _ schema: DatasetSchema) throws -> Instant? {
        let change = try transaction.trackedChange(of: one.key, in: schema)
        let deleted = try change.flatMap { $0.isDeletion ? $0.instant : nil } ?? transaction.tombstone(of: one.key, in: schema)
        if try transaction.hasRow(one.key, of: schema) {
            guard one.displacedAt == nil, let here = try transaction.instant(of: one.key, in: schema) else { return nil }
            return here < one.instant ? one.instant : nil
        }
        guard let deleted else { return one.instant }
        // The deletion that made room for another's value is no word against the entity.
        if deleted == one.displacedAt { return deleted.advanced(byMicroseconds: 1) }
        return deleted < one.instant ? one.instant : nil
    }

    private func comesBack(_ one: SetAsideEntity, _ schema: DatasetSchema, at instant: Instant) throws -> Bool {
        try transaction.attempting {
            _ = try transaction.deleteEntity(one.key, of: schema)
            try EntityDocument.give(one.entity, of: schema, to: try transaction.inserting(into: schema))
            guard try !transaction.isDangling(one.key, of: schema, among: datasets) else { return false }
            try transaction.trackChange(of: one.key, in: schema, at: instant)
            return true
        }
    }
}

extension SetAsideReturn {
    /// Writes what was set aside, and edits that lost and that nobody has looked at, into files beside the database: the tables that hold
    /// them are about to go.
    static func keepCopies(of datasets: [DatasetSchema], in transaction: LocalTransaction, database: String, now: Instant) throws {
        let conflicts = Dictionary(grouping: try transaction.conflicts(in: .open).map(\.conflict), by: \.dataset)
        for schema in datasets {
            var entities = try transaction.setAsideEntities(of: schema).map { (key: $0.key, text: $0.entity) }
            // A deletion that lost leaves nothing to keep. Sorting is stable: of one key, the edit that lost first comes first.
            entities += (conflicts[schema.name] ?? []).compactMap { one in one.loser.entity.map { (key: one.key, text: $0) } }.sorted { $0.key < $1.key }
            var copies: [KeptCopy] = []
            for one in entities {
                // A file is in key order; what comes later than it should begins another.
                if copies.last?.takes(one.key) != true { copies.append(try KeptCopy(schema, of: database, now: now, number: copies.count)) }
                try copies.last?.add(one.key) { try EntityDocument.give(one.text, of: schema, to: $0) }
            }
            for copy in copies { try copy.finish() }
        }
    }
}

extension Device {
    /// Lets entities come back at a publisher, where no import does it. Returns what there is to say.
    func returnSetAside() throws -> [String] {
        let hasAny = try database.read { transaction in try settings.datasets.contains { try transaction.setAsideEntities(of: $0).contains { $0.reason != .tooOld } } }
        guard hasAny else { return [] }
        let ledger = ImportLedger(database: database.path, datasets: settings.datasets, now: now())
        try database.write { transaction in
            try transaction.foldNotes(of: settings.datasets)
            try transaction.importing { try SetAsideReturn(datasets: settings.datasets, transaction: transaction, ledger: ledger).run() }
        }
        return ledger.sentences
    }
}
