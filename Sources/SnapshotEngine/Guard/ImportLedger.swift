import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// What one import takes out and keeps, and what it has to say about that. Used within one transaction, on one thread.
package final class ImportLedger {
    let now: Instant
    /// This device's name.
    let device: String
    /// Whether this device publishes what wins here, so that nobody else sees what loses to it.
    let publishes: Bool
    /// The device that published what is being applied; nil where that is not known.
    var author: String?
    /// The devices that published the versions that are being applied, by the versions' numbers.
    var authors: [Int: String] = [:]
    /// The device that published all of them; nil if there were several, or none is known.
    var soleAuthor: String? { Set(authors.values).count == 1 ? authors.values.first : nil }
    /// How many edits were written to the conflict journal.
    private(set) var conflicts = LostEdits()
    private let database: String
    private let datasets: [DatasetSchema]
    /// What keeps parents for the children that stay; nil until the import begins.
    var parents: OrphanResolver?
    /// What finds single entities of the versions that are being applied, by the dataset's name.
    var lookups: [String: VersionLookup] = [:]
    private var copies: [String: [DisplacedRowsFile]] = [:]
    private var events: [Event: [EntityKey]] = [:]

    private struct Event: Hashable {
        let dataset: String
        let what: String
    }

    init(database: String, settings: SyncSettings, now: Instant) {
        self.database = database
        datasets = settings.datasets
        device = settings.device
        publishes = settings.role.publishes
        self.now = now
    }

    /// Keeps a row that has to leave its table, and says so.
    func setAside(_ row: DisplacedRow, in transaction: LocalTransaction) throws {
        if try keep(row, in: transaction) { recordSetAside(row.key, row.schema, row.reason) }
    }

    /// Keeps a row that has to leave its table. Returns whether there is such a row.
    @discardableResult
    func keep(_ row: DisplacedRow, in transaction: LocalTransaction) throws -> Bool {
        guard let text = try EntityDocument.make(row.schema, row.give) else { return false }
        try transaction.setAside.add(
            SetAsideEntity(key: row.key, entity: text, reason: row.reason, instant: row.instant, displacedAt: row.displacedAt), of: row.schema)
        return true
    }

    /// Puts displaced rows back among the version's, and inserts the version's entities in place of those that lose to another row.
    func restore(_ rows: UniqueConflictResolver, of lookup: VersionLookup, in transaction: LocalTransaction) throws {
        try SyncError.at(.apply) {
            var lost = try rows.putBack { try setAside($0, in: transaction) }
            while !lost.isEmpty {
                var next: [EntityKey] = []
                try lookup.forEachEntity(of: lost) { key, give in next += try rows.offer(key, give) { try setAside($0, in: transaction) } }
                lost = next
            }
            try rows.end()
        }
    }

    /// Says that an entity was set aside.
    func recordSetAside(_ key: EntityKey, _ schema: DatasetSchema, _ reason: SetAsideReason) {
        // One that went and came and went again, or went for two reasons, is told once.
        withdraw(key, schema)
        note(key, schema, "\(Self.setAside)\(reason.explanation)")
    }

    /// Says that an entity came back; nothing, if this very import had set it aside.
    func recordReturn(_ key: EntityKey, _ schema: DatasetSchema) {
        if !withdraw(key, schema) { note(key, schema, Self.cameBack) }
    }

    /// Says that an entity that was set aside is dropped, because a later change of the same entity is there, and keeps it among the conflicts.
    ///
    /// - Parameter entity: the later change as canonical JSON; nil for a deletion.
    func overtake(_ one: SetAsideEntity, _ schema: DatasetSchema, by entity: String?, at instant: Instant, in transaction: LocalTransaction) throws {
        let isNews = !withdraw(one.key, schema)
        // A version's row that this import took out and put in again in a later state lost nothing; a change made here did.
        guard entity != one.entity, isNews || one.displacedAt == nil else { return }
        try recordConflict(
            Conflict(
                dataset: schema.name, key: one.key, reason: entity == nil ? .laterDeletion : .laterEdit,
                loser: ConflictSide(entity: one.entity, instant: one.instant, device: nil), winner: ConflictSide(entity: entity, instant: instant, device: nil)),
            in: transaction)
        note(one.key, schema, "not waited for any longer: set aside earlier, and \(entity == nil ? "deleted" : "changed") later by another device")
    }

    /// Takes back what this import said of an entity that it set aside or let come back. Returns whether it had said so.
    @discardableResult
    private func withdraw(_ key: EntityKey, _ schema: DatasetSchema) -> Bool {
        var hasSaid = false
        for event in events.keys where event.dataset == schema.name && (event.what == Self.cameBack || event.what.hasPrefix(Self.setAside)) {
            guard let index = events[event]?.firstIndex(of: key) else { continue }
            events[event]?.remove(at: index)
            if events[event]?.isEmpty == true { events[event] = nil }
            hasSaid = true
        }
        return hasSaid
    }

    private static let setAside = "set aside: "
    private static let cameBack = "came back that had been set aside"

    /// Keeps a row that loses against the version of a first import, in a file.
    func copy(_ key: EntityKey, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        // A copy is in key order; what comes later than it should begins another.
        if copies[schema.name]?.last?.takes(key) != true {
            copies[schema.name, default: []].append(try DisplacedRowsFile(schema, of: database, now: now, number: copies[schema.name]?.count ?? 0))
        }
        try copies[schema.name]?.last?.add(key) { try transaction.rows.giveRow(key, of: schema, to: $0) }
    }

    /// Writes an edit that loses to the conflict journal.
    func recordConflict(_ conflict: Conflict, in transaction: LocalTransaction) throws {
        guard try transaction.conflictJournal.record(conflict, at: now) != nil else { return }
        conflicts += LostEdits(count: 1, refused: conflict.reason == .refused ? 1 : 0)
    }

    /// Notes something that deserves attention about an entity.
    func note(_ key: EntityKey, _ schema: DatasetSchema, _ what: String) {
        events[Event(dataset: schema.name, what: what), default: []].append(key)
    }

    /// Makes the copies durable, before the transaction that removes their rows is kept.
    func finish() throws { for copy in copies.values.joined() { try copy.finish() } }

    /// Takes the copies away again, for the import failed and the rows are where they were.
    func discard() { for copy in copies.values.joined() { copy.discard() } }

    /// What there is to say, a sentence each.
    var sentences: [String] {
        events.map { event, keys in
            let shown = keys.prefix(3).map(\.description).joined(separator: ", ") + (keys.count > 3 ? ", …" : "")
            return "\(event.dataset): \(Format.count(keys.count, "entity", "entities")) \(event.what) (\(shown))"
        }.sorted()
            + copies.values.joined().map {
                "\($0.schema.name): \(Format.count($0.count, "own row")) gave way to the cloud's and \(Format.word($0.count, "is", "are")) kept in \($0.path)"
            }.sorted()
    }
}

extension SetAsideReason {
    /// Why, and what ends it.
    fileprivate var explanation: String {
        switch self {
        case .parentMissing: "what they refer to is not there; they come back with it"
        case .valueTaken: "another has a value, later, that only one may have; they come back when it is free"
        case .parentNeeded: "deleted, needed by others, and another has a value by now that only one may have; they come back when it is free"
        case .tooOld: "changed here so long ago that the cloud no longer knows whether they were deleted"
        default: name
        }
    }
}
