import LocalStore
import SnapshotFormat
import SnapshotModel
import StrictText

/// What one import takes out and keeps, and what it has to say about that. Used within one transaction, on one thread.
final class ImportLedger {
    let now: Instant
    private let database: String
    private let datasets: [DatasetSchema]
    /// What keeps parents for the children that stay; nil until the import begins.
    var parents: ParentKeeper?
    /// What finds single entities of the versions that are being applied, by the dataset's name.
    var lookups: [String: VersionLookup] = [:]
    private var copies: [String: [KeptCopy]] = [:]
    private var events: [Event: [EntityKey]] = [:]
    private var justSetAside: Set<String> = []

    private struct Event: Hashable {
        let dataset: String
        let what: String
    }

    init(database: String, datasets: [DatasetSchema], now: Instant) {
        self.database = database
        self.datasets = datasets
        self.now = now
    }

    /// Keeps a row that has to leave its table.
    func setAside(_ row: DisplacedRow, in transaction: LocalTransaction) throws {
        guard let text = try EntityDocument.make(row.schema, row.give) else { return }
        try transaction.addSetAside(
            SetAsideEntity(key: row.key, entity: text, reason: row.reason, instant: row.instant, displacedAt: row.displacedAt), of: row.schema)
        justSetAside.insert("\(row.schema.name) \(row.key)")
        note(row.key, row.schema, "set aside: \(row.reason.explanation)")
    }

    /// Whether this very import has set the entity aside.
    func hasJustSetAside(_ key: EntityKey, of schema: DatasetSchema) -> Bool { justSetAside.contains("\(schema.name) \(key)") }

    /// Keeps a row that loses against the version of a first import, in a file.
    func copy(_ key: EntityKey, of schema: DatasetSchema, in transaction: LocalTransaction) throws {
        // A copy is in key order; what comes later than it should begins another.
        if copies[schema.name]?.last?.takes(key) != true { copies[schema.name, default: []].append(try KeptCopy(schema, of: database, now: now, number: copies[schema.name]?.count ?? 0)) }
        try copies[schema.name]?.last?.add(key) { try transaction.giveRow(key, of: schema, to: $0) }
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
            return "\(event.dataset): \(keys.count) \(keys.count == 1 ? "entity" : "entities") \(event.what) (\(shown))"
        }.sorted() + copies.values.joined().map { "\($0.schema.name): \($0.count) own \($0.count == 1 ? "row" : "rows") gave way to the cloud's and \($0.count == 1 ? "is" : "are") kept in \($0.path)" }.sorted()
    }
}

extension SetAsideReason {
    /// Why, and what ends it.
    fileprivate var explanation: String {
        switch self {
        case .parentMissing: "what they refer to is not there; they come back with it"
        case .valueTaken: "another has a value, later, that only one may have; they come back when it is free"
        case .tooOld: "changed here so long ago that the cloud no longer knows whether they were deleted"
        default: name
        }
    }
}
