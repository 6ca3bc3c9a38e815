import LocalStore
import SnapshotFormat
import SnapshotModel
import SnapshotVersions
import StrictText

/// Collects what one import removes, keeps and reports. Used within one transaction, on one thread.
package final class ImportLedger {
    let now: Instant
    /// This device's name.
    let device: String
    /// Whether this device publishes the edits that win here. No other device then sees the edits that lose to them.
    let publishes: Bool
    /// Whether rows of a version are set aside if they hold a UNIQUE value of this device's table that another row of the version holds.
    var resolvesDuplicates = false
    /// The device that published the version that is being applied; nil if unknown.
    var author: String?
    /// The devices that published the versions that are being applied, by version number.
    var authors: [Int: String] = [:]
    /// The only device that published them; nil if there were several, or none is known.
    var soleAuthor: String? { Set(authors.values).count == 1 ? authors.values.first : nil }
    /// The number of edits that were written to the conflict journal.
    private(set) var conflicts = LostEdits()
    private let database: String
    private let datasets: [DatasetSchema]
    /// Keeps or revives parents that remaining children need; nil until the import begins.
    var parents: OrphanResolver?
    /// Lookups of single entities of the versions that are being applied, by dataset name.
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

    /// Sets aside a row that must leave its table, and reports it.
    func setAside(_ row: DisplacedRow, in transaction: LocalTransaction) throws {
        if try keep(row, in: transaction) { recordSetAside(row.key, row.schema, row.reason) }
    }

    /// Sets aside a row that must leave its table, without reporting it. Returns whether the row exists.
    @discardableResult
    func keep(_ row: DisplacedRow, in transaction: LocalTransaction) throws -> Bool {
        guard let text = try EntityDocument.make(row.schema.withoutShapes, row.give) else { return false }
        try transaction.setAside.add(
            SetAsideEntity(key: row.key, entity: text, reason: row.reason, instant: row.instant, displacedAt: row.displacedAt), of: row.schema)
        return true
    }

    /// Returns displaced rows to their tables among the version's rows, and inserts the version's entities where their changed rows lost to other
    /// rows.
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

    /// The resolver for UNIQUE values that several rows of a version hold; nil if such a version is refused.
    func duplicates(of schema: DatasetSchema, in transaction: LocalTransaction) throws -> DuplicateValues? {
        try resolvesDuplicates ? DuplicateValues(transaction, schema) : nil
    }

    /// Reports that an entity was set aside.
    func recordSetAside(_ key: EntityKey, _ schema: DatasetSchema, _ reason: SetAsideReason) {
        // Report an entity once, even if it was set aside several times or for two reasons.
        withdraw(key, schema)
        note(key, schema, "\(Self.setAside)\(reason.explanation)")
    }

    /// Reports that an entity came back. If this import set it aside, the two cancel out and nothing is reported.
    func recordReturn(_ key: EntityKey, _ schema: DatasetSchema) {
        if !withdraw(key, schema) { note(key, schema, Self.cameBack) }
    }

    /// Reports that an entity that was set aside is dropped because a later change of the same entity exists, and writes it to the conflict
    /// journal.
    ///
    /// - Parameter entity: the later change as JSON without shapes; nil for a deletion.
    func overtake(_ one: SetAsideEntity, _ schema: DatasetSchema, by entity: String?, at instant: Instant, in transaction: LocalTransaction) throws {
        let isNews = !withdraw(one.key, schema)
        // If this import displaced a version's row and inserted it again in a later state, nothing was lost. A local change that was displaced
        // was lost.
        guard entity != one.entity, isNews || one.displacedAt == nil else { return }
        try recordConflict(
            Conflict(
                dataset: schema.name, key: one.key, reason: entity == nil ? .laterDeletion : .laterEdit,
                loser: ConflictSide(entity: one.entity, instant: one.instant, device: nil), winner: ConflictSide(entity: entity, instant: instant, device: nil)),
            in: transaction)
        note(one.key, schema, "not waited for any longer: set aside earlier, and \(entity == nil ? "deleted" : "changed") later by another device")
    }

    /// Removes from the report that this import set an entity aside or let it come back. Returns whether the report said so.
    @discardableResult
    private func withdraw(_ key: EntityKey, _ schema: DatasetSchema) -> Bool {
        var hasSaid = false
        for event in events.keys where event.dataset == schema.name && (event.what == Self.cameBack || event.what.exact.hasPrefix(Self.setAside)) {
            guard let index = events[event]?.firstIndex(of: key) else { continue }
            events[event]?.remove(at: index)
            if events[event]?.isEmpty == true { events[event] = nil }
            hasSaid = true
        }
        return hasSaid
    }

    private static let setAside = "set aside: "
    private static let cameBack = "came back that had been set aside"

    /// Writes a row that loses to the version of a first import to a file.
    func copy(_ key: EntityKey, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        try DisplacedRowsFile.add(key, of: schema, to: &copies[schema.name, default: []], database: database, now: now) {
            try transaction.rows.giveRow(key, of: schema, to: $0)
        }
    }

    /// Writes an edit that loses to the conflict journal.
    func recordConflict(_ conflict: Conflict, in transaction: LocalTransaction) throws {
        guard try transaction.conflictJournal.record(conflict, at: now) != nil else { return }
        conflicts += LostEdits(count: 1, refused: conflict.reason == .refused ? 1 : 0)
    }

    /// Adds a sentence about an entity to the report.
    func note(_ key: EntityKey, _ schema: DatasetSchema, _ what: String) {
        events[Event(dataset: schema.name, what: what), default: []].append(key)
    }

    /// Makes the files durable. Call it before the transaction that removes their rows commits.
    func finish() throws { for copy in copies.values.joined() { try copy.finish() } }

    /// Removes the files again. Call it if the import failed: the rows are still in their tables.
    func discard() { for copy in copies.values.joined() { copy.discard() } }

    /// Returns the report, one sentence for each kind of event.
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
    /// Why the entities were set aside, and when they come back.
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
