import LocalStore
import LocalTables
public import SnapshotEngine
import SnapshotFormat
import SnapshotModel
public import SnapshotVersions
import StrictText
import SyncRuns

/// The contents of a database's conflict journal.
public struct ConflictsReport: Sendable, Encodable {
    /// One side of a conflict.
    public struct Side: Sendable, Encodable {
        /// Whether this side deleted the entity.
        public let isDeletion: Bool
        /// When the edit was made; nil if that is not known.
        public let at: String?
        /// The device that made or published the edit; nil if that is not known.
        public let device: String?
        /// The entity as JSON that carries every value; nil for a deletion.
        public let entity: String?
    }

    /// One column with its values on both sides.
    public struct Column: Sendable, Encodable {
        public let name: String
        /// The value that lost, formatted for people; nil if the losing side is a deletion, or if the column did not lose.
        public let lost: String?
        /// The value that won, formatted for people; nil if the winning side is a deletion.
        public let kept: String?
    }

    /// An edit that lost a conflict.
    public struct Entry: Sendable, Encodable, Identifiable {
        public let id: Int64
        public let dataset: String
        /// The entity's key.
        public let key: ReportedKey
        /// `laterEdit`, `laterDeletion`, `sameKey`, `valueTaken`, `parentNeeded` or `refused`.
        public let reason: String
        /// Details of the reason, as a sentence; nil if there are none.
        public let detail: String?
        /// In a list, the columns that lost, or of a whole row those in which the sides differ; in `conflicts show`, all columns.
        public let columns: [Column]
        public let lost: Side
        public let kept: Side
        /// When this device recorded it.
        public let recordedAt: String
        /// `open`, `taken` or `cleared`.
        public let state: String
    }

    /// A row that is in no table, because it does not fit.
    public struct HeldRow: Sendable, Encodable {
        public let dataset: String
        public let key: ReportedKey
        /// The row as JSON that carries every value.
        public let entity: String
        /// Why it does not fit, as clauses of a sentence. Empty if it fits here: the next sync shows it, if it fits where it is published.
        public let obstacles: [String]
    }

    public let database: String
    /// Oldest first.
    public let conflicts: [Entry]
    /// The rows that are held, in the order of the datasets and keys.
    public let held: [HeldRow]
    /// How many entries are open.
    public let open: Int
    /// How many open entries were removed because they were too old, or because the journal was full.
    public let removed: Int
}

extension ConflictsReport.Entry {
    /// - Parameter isWhole: whether to list all columns instead of only those that differ.
    init(_ entry: ConflictEntry, _ schema: DatasetSchema?, isWhole: Bool, in transaction: LocalTransaction) throws {
        let conflict = entry.conflict
        // With columns that are not synced any more.
        let whole = try schema.map { try EntityDocument.widened($0, for: [conflict.loser, conflict.winner].compactMap(\.entity)) }
        let lost = try Self.values(conflict.loser.entity, whole), kept = try Self.values(conflict.winner.entity, whole)
        let names = whole?.columns.map(\.name) ?? []
        let lostColumns = conflict.columns.map { Set($0.map(\.exact)) }
        let losing = Set(names.indices.filter { lostColumns?.contains(names[$0].exact) ?? ((lost?[$0] ?? .null) != (kept?[$0] ?? .null)) })
        func side(_ side: ConflictSide) -> ConflictsReport.Side {
            ConflictsReport.Side(
                isDeletion: side.entity == nil, at: side.instant <= Instant.earliest.advanced(byMicroseconds: 1) ? nil : side.instant.description,
                device: side.device, entity: side.entity)
        }
        self.init(
            id: entry.id, dataset: conflict.dataset, key: try transaction.reported(conflict.key, of: schema), reason: conflict.reason.name,
            detail: conflict.detail,
            columns: names.indices.filter { isWhole || losing.contains($0) }.map {
                .init(name: names[$0], lost: losing.contains($0) ? lost?[$0].description : nil, kept: kept?[$0].description)
            },
            lost: side(conflict.loser), kept: side(conflict.winner), recordedAt: entry.recordedAt.description, state: entry.state.rawValue)
    }

    /// The values of an entity in the journal; nil for a deletion, and for an entity that is none of a described dataset any more.
    private static func values(_ entity: String?, _ schema: DatasetSchema?) throws -> [OwnedValue]? {
        guard let entity, let schema else { return nil }
        let sink = OwnedEntities(schema: schema)
        do {
            try EntityDocument.send(entity, of: schema.withoutShapes, to: sink)
        } catch let error as SyncError where error.format != nil {
            return nil
        }
        return sink.all.first?.values
    }
}

/// Result of `conflicts take`.
public struct ConflictTakeReport: Sendable, Encodable {
    public let id: Int64
    public let dataset: String
    /// The key under which the edit is stored now.
    public let key: ReportedKey
    /// Whether the edit became a row under a new key.
    public let hasNewKey: Bool
    /// Whether the edit is a deletion.
    public let isDeletion: Bool
    /// Why the edit stays on this device, as a clause; nil if the next sync hands it over.
    public let stays: String?
}

extension LocalTransaction {
    /// A row's key as `conflicts` prints and reads it.
    func reported(_ key: EntityKey, of schema: DatasetSchema?) throws -> ReportedKey {
        ReportedKey(try schema.map { try tables.named(key, of: $0) } ?? key)
    }

    /// Why an edit stays on this device, as a clause; nil if the next sync hands it over.
    func reasonToStay(_ key: EntityKey, of dataset: String, _ settings: SyncSettings) throws -> String? {
        guard let schema = settings.datasets.first(where: { $0.name.exact == dataset.exact }) else { return nil }
        try changeLog.consolidate(of: [schema])
        guard try changeLog.change(of: key, in: schema) != nil else { return "no other device has the row" }
        return settings.role.publishes ? nil : try sentEdits.kept(of: schema).first { $0.key == key }?.sentence
    }
}

/// Result of `conflicts clear`.
public struct ConflictClearReport: Sendable, Encodable {
    /// How many open entries were closed.
    public let cleared: Int
}

extension SyncEngine {
    /// The edits that lost conflicts, and the rows that are held.
    public var conflicts: SyncConflicts { SyncConflicts(engine: self) }
}

/// The edits that lost conflicts, and the rows that are held: `engine.conflicts`.
public struct SyncConflicts: Sendable {
    let engine: SyncEngine

    /// The key under which a losing edit is restored.
    public enum Place: Sendable {
        /// Its own key. If two devices inserted rows under the same integer key, the restored row gets a new key.
        case usual
        /// Its own key; the edit replaces the row that has it.
        case sameKey
        case newKey
    }

    /// The edits that lost conflicts and are stored in this database, and the rows that are held.
    ///
    /// - Parameter all: whether to include the edits that were taken or cleared.
    public func list(all: Bool = false) throws -> ConflictsReport {
        try engine.database.read { transaction in
            let datasets = try transaction.settings.read().datasets
            let entries = try transaction.conflictJournal.entries(in: all ? nil : .open)
            return ConflictsReport(
                database: engine.database.path,
                conflicts: try entries.map { entry in
                    try .init(entry, datasets.first { $0.name == entry.conflict.dataset }, isWhole: false, in: transaction)
                },
                held: try heldRows(datasets, transaction), open: try transaction.conflictJournal.openCount(),
                removed: try transaction.conflictJournal.removedCount())
        }
    }

    private func heldRows(_ datasets: [DatasetSchema], _ transaction: LocalTransaction) throws -> [ConflictsReport.HeldRow] {
        try TableVersion(transaction, of: datasets, .json, own: nil).heldRows().sorted { $0.place < $1.place }.compactMap { place, row in
            let schema = datasets[place.dataset]
            // What this device has inserted or deleted under the key is an edit of the held row.
            guard try transaction.changeLog.change(of: place.key, in: schema) == nil else { return nil }
            return .init(
                dataset: schema.name, key: try transaction.reported(place.key, of: schema), entity: try EntityCodec.json.text(schema, row.values),
                obstacles: try transaction.held.obstacles(of: row.values, in: schema))
        }
    }

    /// One edit that lost, with all columns of both sides.
    ///
    /// - Throws: ``SyncError`` with `.nothingThere` if the journal has no entry with this id.
    public func entry(_ id: Int64) throws -> ConflictsReport.Entry {
        try engine.database.read { transaction in
            let datasets = try transaction.settings.read().datasets, entry = try entry(id, in: transaction)
            return try .init(entry, datasets.first { $0.name == entry.conflict.dataset }, isWhole: true, in: transaction)
        }
    }

    /// Restores an edit that lost, as a new edit that the next sync publishes or sends.
    ///
    /// - Throws: ``SyncError`` with `.refused` if the table's constraints forbid the edit or it was already taken. Nothing is changed then.
    public func take(_ id: Int64, to place: Place = .usual) throws -> ConflictTakeReport {
        try engine.lockedHere {
            try engine.database.write { transaction in
                let settings = try transaction.settings.read(), entry = try entry(id, in: transaction)
                guard entry.state != .taken else {
                    throw SyncError(
                        .refused, step: .apply, at: "\(engine.database.path), conflict \(id)", "it was taken already",
                        hint: "look at the row; snapsync conflicts lists what is open")
                }
                let taker = ConflictTaker(transaction: transaction, settings: settings, now: engine.now(), path: engine.database.path)
                let key = try transaction.tracking.keepingOwnColumns(of: settings.datasets) { try taker.take(entry, to: place) }
                _ = try transaction.conflictJournal.set(id, to: .taken)
                let schema = settings.datasets.first { $0.name == entry.conflict.dataset }
                return ConflictTakeReport(
                    id: id, dataset: entry.conflict.dataset, key: try transaction.reported(key, of: schema), hasNewKey: key != entry.conflict.key,
                    isDeletion: entry.conflict.loser.entity == nil, stays: try transaction.reasonToStay(key, of: entry.conflict.dataset, settings))
            }
        }
    }

    /// Closes one entry, or all open entries. They stay in the journal until they are too old.
    public func clear(_ id: Int64? = nil) throws -> ConflictClearReport {
        try engine.lockedHere {
            try engine.database.write { transaction in
                _ = try transaction.settings.read()
                guard let id else { return ConflictClearReport(cleared: try transaction.conflictJournal.clear()) }
                guard try entry(id, in: transaction).state == .open else { return ConflictClearReport(cleared: 0) }
                return ConflictClearReport(cleared: try transaction.conflictJournal.set(id, to: .cleared) ? 1 : 0)
            }
        }
    }

    private func entry(_ id: Int64, in transaction: LocalTransaction) throws -> ConflictEntry {
        guard let entry = try transaction.conflictJournal.entry(id) else {
            throw SyncError(
                .nothingThere, step: .read, at: "\(engine.database.path), conflict \(id)", "there is no such entry in the conflict journal",
                hint: "snapsync conflicts --all lists them")
        }
        return entry
    }
}
