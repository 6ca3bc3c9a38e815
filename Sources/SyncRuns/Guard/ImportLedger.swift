import LocalStore
import LocalTables
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
    /// The device that published what is being applied; nil if unknown.
    var author: String?
    /// The devices that published the versions that are being applied, by version number.
    var authors: [Int: String] = [:]
    /// The only device that published them, up to a number; nil if there were several, or none is known.
    func soleAuthor(upTo number: Int) -> String? {
        let found = Set(authors.filter { $0.key <= number }.values.map(\.exact))
        return found.count == 1 ? found.first?.text : nil
    }
    /// The number of edits that were written to the conflict journal.
    private(set) var conflicts = LostEdits()
    private let database: String
    private let datasets: [DatasetSchema]
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

    /// What the report says of rows that are held, and of those that are shown again.
    static let isHeld = "held, because a value that only one row may have is taken, or a row that is referred to is missing; a held row returns when it fits"
    static let isShown = "held before, shown again"

    /// Writes a row that loses to the version of a first import to a file.
    func copy(_ key: EntityKey, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        try DisplacedRowsFile.add(key, of: schema, to: &copies[schema.name, default: []], database: database, now: now) {
            try transaction.rows.sendRow(key, of: schema, to: $0)
        }
    }

    /// Writes a row with these values, which loses to the version of a first import, to a file.
    func copy(_ key: EntityKey, _ values: [OwnedValue], of schema: DatasetSchema) throws {
        try DisplacedRowsFile.add(key, of: schema, to: &copies[schema.name, default: []], database: database, now: now) { sink in
            try values.lending { try sink.receive($0) }
        }
    }

    /// Writes held rows to the conflict journal in whose places the application has inserted other rows.
    func recordOverwritten(_ rows: [(place: RowPlace, row: WaitingRow)], of datasets: [DatasetSchema], in transaction: LocalTransaction) throws {
        for (place, row) in rows {
            try recordOverwritten(place.key, row.entity, at: row.at, of: datasets[place.dataset], by: device, in: transaction)
        }
    }

    /// Writes a held row to the conflict journal in whose place the application has inserted another row.
    func recordOverwritten(
        _ key: EntityKey, _ entity: String, at instant: Instant, of schema: DatasetSchema, by author: String?, in transaction: LocalTransaction
    ) throws {
        let row = RowValues()
        try transaction.rows.sendRow(key, of: schema, to: row)
        try recordConflict(
            Conflict(
                dataset: schema.name, key: key, reason: .sameKey, loser: ConflictSide(entity: entity, instant: instant, device: author),
                winner: ConflictSide(entity: row.values.isEmpty ? nil : EntityCodec.json.text(schema, row.values), instant: now, device: device)),
            in: transaction)
    }

    /// Writes an edit that loses to the conflict journal.
    func recordConflict(_ conflict: Conflict, in transaction: LocalTransaction) throws {
        guard try transaction.conflictJournal.record(conflict, at: now) != nil else { return }
        conflicts += LostEdits(conflict)
    }

    /// Adds a sentence about an entity to the report.
    func record(_ place: RowPlace, of datasets: [DatasetSchema], _ what: String) {
        events[Event(dataset: datasets[place.dataset].name, what: what), default: []].append(place.key)
    }

    /// Makes the files durable. Call it before the transaction that removes their rows commits.
    func finish() throws { for copy in copies.values.joined() { try copy.finish() } }

    /// Removes the files again. Call it if the import failed: the rows are still in their tables.
    func discard() { for copy in copies.values.joined() { copy.discard() } }

    /// Returns the report, one sentence for each kind of event.
    var sentences: [String] {
        events.map { event, keys in
            let shown = keys.prefix(3).map(\.description).joined(separator: ", ") + (keys.count > 3 ? ", …" : "")
            return "\(event.dataset): \(Format.count(keys.count, "entity", or: "entities")) \(event.what) (\(shown))"
        }.sorted()
            + copies.values.joined().map {
                "\($0.schema.name): \(Format.count($0.count, "own row")) gave way to the location's and \(Format.word($0.count, "is", or: "are")) kept in \($0.path)"
            }.sorted()
    }
}
