import GRDB
import GRDBSQLite
package import SnapshotModel
package import StrictText

/// A summary of the changes of one dataset since the applied version.
package struct TrackedChanges: Sendable, Hashable {
    /// Whether every change since the applied version is tracked: local data = the applied version + the tracked changes.
    package let isComplete: Bool
    /// How many entities were changed.
    package let count: Int
    /// The last change's sequence number, of any dataset; 0 if there is none.
    package let lastSequence: Int64
}

/// What was known, when the rows of a dataset were read, of whether every change is tracked.
package struct TrackingDoubt: Hashable, Sendable {
    /// As in `snapsync_tracking`.
    let isComplete: Int64

    init(_ isComplete: Int64) { self.isComplete = isComplete }
}

/// A change that was made here and is not in the applied version.
package struct TrackedChange: Sendable, Hashable {
    package let key: EntityKey
    package let instant: Instant
    package let isDeletion: Bool
    /// Whether the row exists and its own timestamp differs from the change's instant.
    package let isStamped: Bool
    let origin: TrackedOrigin
    /// Whether the applied version has the key; nil if that is not known.
    package var isInVersion: Bool? { origin == .unknown ? nil : origin == .inVersion }
    /// Whether the applied version may lack the key.
    package var isNew: Bool { isInVersion != true }
    /// Whether the change is one of the version's row, also if the row was deleted and inserted again. Otherwise it is a row that was inserted here.
    package var isOfVersion: Bool { isInVersion == true || isInVersion == nil && born == nil }
    package let columns: ChangedColumns
    /// When the row was inserted here; nil if it came from a version, or if that is not known.
    package let born: Instant?
    /// Whether nothing was edited, but the row has values that the version does not have.
    package let isCarried: Bool
    /// Whether these values are only the defaults of this table.
    package let isDefaulted: Bool
    /// The instant of the version's entity or tombstone that the change was made on; nil if there was none or it is not known. If a version's
    /// edit is later than this, neither author had seen the other's change.
    package let base: Instant?

    /// Whether the change set the row's timestamp, or may have.
    func changesTimestamp(of schema: DatasetSchema) -> Bool {
        guard let index = schema.timestampIndex, case .some(let columns) = columns else { return true }
        return columns[index] != nil
    }

    /// The columns in which the row may differ from the applied version; nil for all, or if that version may not have the row.
    package func partialColumns(of schema: DatasetSchema) -> Set<Int>? {
        guard isInVersion == true, !isDeletion, case .some(let some) = columns else { return nil }
        let changed = Set(some.keys)
        let isAll = changed.union(schema.keyIndices).count >= schema.columns.count
        return changed.isEmpty || isAll || !changed.isSubset(of: schema.columns.indices) ? nil : changed
    }

    static let sqlColumns = "key, at, state, isNew, cause, changed, base, born"

    /// ``isOfVersion`` in SQL, of a row of `snapsync_changes`.
    static func isOfVersion(_ row: String) -> String {
        "(\(row).isNew = \(TrackedOrigin.inVersion) OR \(row).isNew = \(TrackedOrigin.unknown) AND \(row).born IS NULL)"
    }

    /// Reads ``sqlColumns``.
    init?(_ row: KeyedStatement, _ schema: DatasetSchema) {
        guard let key = row.key(0) else { return nil }
        self.key = key
        instant = row.instant(1)
        isDeletion = row.integer(2) == Int64(TrackedState.deleted.rawValue)
        isStamped = row.integer(2) == Int64(TrackedState.stamped.rawValue)
        origin = TrackedOrigin(rawValue: row.integer(3)) ?? .unknown
        columns = ChangedColumns(row.text(5), at: instant)
        isDefaulted = row.integer(4) == ChangeCause.defaulted.rawValue
        isCarried = row.integer(4) == ChangeCause.carried.rawValue || isDefaulted
        base = row.isNull(6) ? nil : row.instant(6)
        born = row.isNull(7) ? nil : row.instant(7)
    }
}

/// Which columns a change changed, and when.
package enum ChangedColumns: Sendable, Hashable {
    /// Every column, at the change's instant: the row was inserted or deleted, or it is not known which columns changed.
    case all
    /// These columns, by their positions in the description, each with an instant that is not later than the change's.
    ///
    /// Columns that change together (``ColumnGroups``) are all here. A column of the key is here if its spelling changed. No column is here if
    /// nothing was edited.
    case some([Int: Instant])
}

extension ChangedColumns {
    /// Decodes the column `changed` of `snapsync_changes`.
    ///
    /// - Parameters:
    ///   - text: positions with blanks between them, each followed by `@` and an instant if it is not the change's; nil for all columns.
    ///   - at: the instant of the change.
    init(_ text: UnsafeRawBufferPointer?, at: Instant) {
        guard let text else {
            self = .all
            return
        }
        var columns: [Int: Instant] = [:]
        for part in text.split(separator: UInt8(ascii: " ")) {
            let fields = part.split(separator: UInt8(ascii: "@"), maxSplits: 1)
            guard let first = fields.first, let position = Int(String(decoding: first, as: UTF8.self)) else {
                // A text that the toolkit did not write.
                self = .all
                return
            }
            let own = fields.count == 2 ? Int64(String(decoding: fields[1], as: UTF8.self)) : nil
            columns[position] = min(own.map(Instant.init(microseconds:)) ?? at, at)
        }
        self = .some(columns)
    }

    /// The text of the column `changed`; nil for all columns.
    func encoded(at: Instant) -> String? {
        guard case .some(let columns) = self else { return nil }
        return columns.sorted { $0.key < $1.key }.map { $1 >= at ? "\($0)" : "\($0)@\($1.microseconds)" }.joined(separator: " ")
    }

    /// Adds columns that changed at an instant; nil stands for all columns.
    mutating func add(_ positions: [Int]?, at: Instant) {
        guard case .some(var columns) = self else { return }
        guard let positions else {
            self = .all
            return
        }
        for position in positions { columns[position] = at }
        self = .some(columns)
    }
}

/// The columns of a dataset that change together: those of one CHECK constraint, of one composite UNIQUE constraint, of one composite
/// reference, and those that the description groups. A mixture of two rows then satisfies every constraint that one row can violate.
package struct ColumnGroups: Sendable {
    /// The groups, as positions in the description. No two have a column in common.
    package let groups: [Set<Int>]
    /// For each column the group that it belongs to, in order; nil for a column that changes by itself.
    private let members: [[Int]?]

    init(_ groups: [Set<Int>], of schema: DatasetSchema) {
        var joined: [Set<Int>] = []
        for group in groups {
            // The key says which row it is. It does not change.
            var whole = group.subtracting(schema.keyIndices)
            let others = joined.filter { !$0.isDisjoint(with: whole) }
            joined.removeAll { !$0.isDisjoint(with: whole) }
            for other in others { whole.formUnion(other) }
            joined.append(whole)
        }
        self.groups = joined.filter { $0.count > 1 }
        var members: [[Int]?] = Array(repeating: nil, count: schema.columns.count)
        for group in self.groups { for position in group { members[position] = group.sorted() } }
        self.members = members
    }

    /// The columns and all that change together with them, in order.
    func closed(_ positions: [Int]) -> [Int] {
        guard positions.contains(where: { members.indices.contains($0) && members[$0] != nil }) else { return positions }
        return Set(positions.flatMap { members.indices.contains($0) ? members[$0] ?? [$0] : [$0] }).sorted()
    }
}
