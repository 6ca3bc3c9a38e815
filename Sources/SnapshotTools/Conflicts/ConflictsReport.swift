import LocalStore
import SnapshotFormat
import SnapshotModel
public import SnapshotVersions
import StrictText

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
        /// Why it does not fit, as clauses of a sentence. Empty if it fits by now: the next sync shows it.
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
    init(_ entry: ConflictEntry, _ schema: DatasetSchema?, isWhole: Bool) throws {
        let conflict = entry.conflict
        let lost = try Self.values(conflict.loser.entity, schema), kept = try Self.values(conflict.winner.entity, schema)
        let names = schema?.columns.map(\.name) ?? []
        let lostColumns = conflict.columns.map { Set($0.map(\.exact)) }
        let losing = Set(names.indices.filter { lostColumns?.contains(names[$0].exact) ?? ((lost?[$0] ?? .null) != (kept?[$0] ?? .null)) })
        func side(_ side: ConflictSide) -> ConflictsReport.Side {
            ConflictsReport.Side(
                isDeletion: side.entity == nil, at: side.instant <= Instant.earliest.advanced(byMicroseconds: 1) ? nil : side.instant.description,
                device: side.device, entity: side.entity)
        }
        self.init(
            id: entry.id, dataset: conflict.dataset, key: ReportedKey(conflict.key), reason: conflict.reason.name, detail: conflict.detail,
            columns: names.indices.filter { isWhole || losing.contains($0) }.map {
                .init(name: names[$0], lost: losing.contains($0) ? lost?[$0].description : nil, kept: kept?[$0].description)
            },
            lost: side(conflict.loser), kept: side(conflict.winner), recordedAt: entry.recordedAt.description, state: entry.state.rawValue)
    }

    /// The values of an entity in the journal; nil for a deletion, and for an entity whose dataset is no longer described.
    private static func values(_ entity: String?, _ schema: DatasetSchema?) throws -> [OwnedValue]? {
        guard let entity, let schema else { return nil }
        let sink = OwnedEntities(schema: schema)
        try EntityDocument.give(entity, of: schema.withoutShapes, to: sink)
        return sink.all.first?.values
    }
}
