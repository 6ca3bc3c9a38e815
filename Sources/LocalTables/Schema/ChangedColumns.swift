import Foundation
import SnapshotModel
package import StrictText

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
    package init(_ text: UnsafeRawBufferPointer?, at: Instant) {
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
    package func encoded(at: Instant) -> String? {
        guard case .some(let columns) = self else { return nil }
        return columns.sorted { $0.key < $1.key }.map { $1 >= at ? "\($0)" : "\($0)@\($1.microseconds)" }.joined(separator: " ")
    }

    /// Adds columns that changed at an instant; nil stands for all columns.
    package mutating func add(_ positions: [Int]?, at: Instant) {
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
    package func closed(_ positions: [Int]) -> [Int] {
        guard positions.contains(where: { members.indices.contains($0) && members[$0] != nil }) else { return positions }
        return Set(positions.flatMap { members.indices.contains($0) ? members[$0] ?? [$0] : [$0] }).sorted()
    }
}
