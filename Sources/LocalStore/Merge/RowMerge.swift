package import SnapshotModel
package import StrictText

/// A row of a version, with what decides about edits of it.
package struct VersionRow: Hashable, Sendable {
    /// A value for each column of the dataset.
    package var values: [OwnedValue]
    /// For each column the instant of its last change.
    package var instants: [Instant]
    /// The instant of the row's insertion: tells apart two rows that had one key.
    package var born: Instant
    /// Whether the row waits outside of the table: a UNIQUE value of it is taken, or a parent is missing.
    package var isHeld = false

    package init(values: [OwnedValue], instants: [Instant], born: Instant, isHeld: Bool = false) {
        self.values = values
        self.instants = instants
        self.born = born
        self.isHeld = isHeld
    }

    /// The instant of the row's last change.
    package var at: Instant { instants.max() ?? .distantPast }
}

/// What a version has under a key.
package enum VersionEntry: Hashable, Sendable {
    case row(VersionRow)
    /// The row was deleted at that instant.
    case deleted(Instant)

    package var row: VersionRow? { if case .row(let row) = self { row } else { nil } }
    /// The row, if it is in the tables.
    package var shown: VersionRow? { row.flatMap { $0.isHeld ? nil : $0 } }

    package var at: Instant {
        switch self {
        case .row(let row): row.at
        case .deleted(let at): at
        }
    }
}

/// Everything that one device did to one key since the version that it had.
///
/// Source: docs/internals/merge.md, "Edits"; `Edit` in Tests/Model/rules.py.
package struct Edit: Hashable, Sendable {
    /// What the device had seen under the key before.
    package enum Base: Hashable, Sendable {
        case nothing
        case deleted(Instant)
        /// A row with these instants of its columns.
        case row([Instant])
    }

    package enum Change: Hashable, Sendable {
        /// The row is gone since that instant.
        case deleted(Instant)
        /// These columns were changed at these instants; `values` is the whole row after it.
        case columns([Int: Instant], values: [OwnedValue])
    }

    package var base: Base
    package var change: Change
    /// The instant of the insertion of the row that the device had, or that it inserted.
    package var born: Instant
    /// Whether the device's own table does not show the row.
    package var isHeld = false
    /// Whether a reference of this row, or to this deleted row, leads nowhere in the device's own tables.
    package var isLoose = false

    package init(base: Base, change: Change, born: Instant, isHeld: Bool = false, isLoose: Bool = false) {
        self.base = base
        self.change = change
        self.born = born
        self.isHeld = isHeld
        self.isLoose = isLoose
    }

    /// The instant of the latest change.
    package var at: Instant {
        switch change {
        case .deleted(let at): at
        case .columns(let columns, _): columns.values.max() ?? .distantPast
        }
    }

    /// The row after the edit; nil for a deletion.
    package var values: [OwnedValue]? { if case .columns(_, let values) = change { values } else { nil } }

    /// The columns of the edit that a version which has decided it has neither taken nor replaced by later values; nil if there are none. Empty for a
    /// deletion, and for a row of which the version has nothing.
    ///
    /// - Parameter horizon: the latest instant of a tombstone that the version has dropped.
    package func refused(by there: VersionEntry?, horizon: Instant) -> [Int]? {
        guard case .columns(let columns, let values) = change else {
            return there?.row.map { $0.born == born && $0.at <= at } ?? false ? [] : nil
        }
        guard let row = there?.row else { return at > (there?.at ?? horizon) ? [] : nil }
        let refused = columns.filter { column, at in (row.instants[column] < at || row.born != born) && row.values[column] != values[column] }
        return refused.isEmpty ? nil : refused.keys.sorted()
    }

    /// Whether the edit changed a column.
    package func changes(_ column: Int) -> Bool { instant(of: column) != nil }

    /// When the edit changed a column; nil if it did not.
    func instant(of column: Int) -> Instant? { if case .columns(let columns, _) = change { columns[column] } else { nil } }

    package var isDeletion: Bool { if case .deleted = change { true } else { false } }

    /// Whether the device inserted the row: it had not seen any row under the key.
    package var inserts: Bool { if case .row = base { false } else { true } }

    /// A parent that a child needs: an edit of all of its columns, 1 us after the deletion. If no version says that the row was deleted, its deletion is
    /// older than every instant.
    ///
    /// - Parameters:
    ///   - own: the row as the device had it.
    ///   - there: what the version has in its place.
    ///   - orphan: the position of the column that marks a row that stays for its children; nil if the dataset has none.
    static func restoring(_ own: VersionRow, over there: VersionEntry?, horizon: Instant, orphan: Int?) -> Edit {
        let at = max(there?.at ?? horizon, .earliest).advanced(byMicroseconds: 1)
        var values = own.values
        if let orphan { values[orphan] = .integer(1) }
        return Edit(
            base: .row(values.map { _ in .distantPast }),
            change: .columns(Dictionary(uniqueKeysWithValues: values.indices.map { ($0, at) }), values: values), born: own.born)
    }

    /// Whether the device inserted the row, and the version's row under its key is another one.
    package func isAnother(than row: VersionRow) -> Bool { inserts && born != row.born }

    /// Whether the device had seen a deletion: also if it has brought the row back, whose columns are as old as the deletion then.
    fileprivate func hasSeen(deletion gone: Instant) -> Bool {
        switch base {
        case .nothing: false
        case .deleted(let at): at == gone
        case .row(let seen): seen.contains(max(gone, .earliest))
        }
    }

    /// Whether the edit brings back a parent that a child needs: its device has edited no column.
    package var restoresParent: Bool { if case .row(let seen) = base { seen.allSatisfy { $0 == .distantPast } } else { false } }

    /// Two edits of one row by one device, one after the other, as one edit.
    package func followed(by next: Edit) -> Edit {
        var one = next
        guard case .columns(let first, let before) = change, case .columns(let second, var values) = next.change else {
            one.base = base
            return one
        }
        if case .row(let seen) = base, case .row(let later) = next.base {
            // Before the second edit, the device may have imported newer values of columns that the first edit did not set.
            one.base = .row(later.indices.map { first[$0] != nil && first[$0] == later[$0] ? seen[$0] : later[$0] })
        } else {
            one.base = base
        }
        for column in first.keys where second[column] == nil { values[column] = before[column] }
        one.change = .columns(first.merging(second) { $1 }, values: values)
        return one
    }
}

/// A value that loses: of a column, or (nil) a deletion.
package struct LostValue: Hashable, Sendable {
    package let column: Int?
    package let value: OwnedValue?

    package init(_ column: Int?, _ value: OwnedValue?) {
        self.column = column
        self.value = value
    }

    static let deletion = LostValue(nil, nil)
}

/// The result of one edit on what a version has under its key.
///
/// Source: rules 1 to 3 of docs/internals/merge.md; `merge` and `place` in Tests/Model/rules.py.
package struct RowMerge: Hashable, Sendable {
    /// What was under the key before.
    package let found: VersionEntry?
    /// What is under the key afterwards.
    package var entry: VersionEntry?
    /// The part of the edit that stands; nil if none does.
    package var standing: Edit?
    /// What loses of the edit to what the version has.
    package var later: Set<LostValue> = []
    /// What loses of the version to the edit, and the edit's author had not seen.
    package var replaced: Set<LostValue> = []
    /// What loses of the edit because it does not fit beside other rows.
    package var misfits: Set<LostValue> = []

    /// When the row was deleted that the edit brings back; nil if it brings none back.
    package var restored: Instant? {
        guard case .deleted(let gone) = found, let standing, !standing.isDeletion, !standing.inserts else { return nil }
        return gone
    }

    private init(_ entry: VersionEntry?, _ standing: Edit?) {
        found = entry
        self.entry = entry
        self.standing = standing
    }

    /// Puts an edit on what a version has under its key (nil: nothing).
    ///
    /// - Parameters:
    ///   - horizon: the latest instant of a tombstone that the version has dropped.
    ///   - restores: whether a later edit brings back a row that the version has deleted.
    package init(_ edit: Edit, on found: VersionEntry?, horizon: Instant, restores: Bool = true) {
        var there = found
        if there == nil {
            switch edit.base {
            case .nothing: break
            // The tombstone was dropped.
            case .deleted(let at): there = .deleted(at)
            case .row: there = .deleted(horizon)
            }
        }
        self.init(there, nil)
        switch (edit.change, there) {
        case (.deleted(let at), .row(let row)): delete(at: at, row, by: edit)
        case (.deleted(let at), _): if there.map({ at > $0.at }) ?? true { (entry, standing) = (.deleted(at), edit) }
        case (.columns(let columns, let values), nil):
            entry = .row(VersionRow(values: values, instants: values.indices.map { columns[$0] ?? .distantPast }, born: edit.born))
            standing = edit
        case (.columns(let columns, let values), .deleted(let gone)?):
            guard edit.at > gone, restores || edit.inserts else {
                later = Set(columns.keys.map { LostValue($0, values[$0]) })
                return
            }
            // A column that was edited before the deletion comes after it: another device that brings the row back had not seen its value.
            let after = max(gone, .earliest).advanced(byMicroseconds: 1)
            standing = edit
            standing?.change = .columns(columns.mapValues { max($0, after) }, values: values)
            entry = .row(VersionRow(values: values, instants: values.indices.map { standing?.instant(of: $0) ?? gone }, born: edit.born))
            if !edit.hasSeen(deletion: gone) { replaced = [.deletion] }
        case (.columns(let columns, let values), .row(let row)?): write(columns, values, to: row, by: edit)
        }
    }

    /// Whether the row has another value than these in a column that the edit does not name. If the device had other rows than a version before, such
    /// a value may be in no other place.
    package func drops(_ values: [OwnedValue], but columns: [Int: Instant]) -> Bool {
        guard let row = entry?.row else { return false }
        return values.indices.contains { columns[$0] == nil && row.values[$0] != values[$0] }
    }

    private mutating func delete(at: Instant, _ row: VersionRow, by edit: Edit) {
        // Otherwise the row that was deleted is gone already.
        guard edit.born == row.born else { return }
        if at > row.at {
            (entry, standing) = (.deleted(at), edit)
            replaced = unseen(row.values.indices, of: row, edit)
        } else {
            later = [.deletion]
        }
    }

    private mutating func write(_ columns: [Int: Instant], _ values: [OwnedValue], to row: VersionRow, by edit: Edit) {
        func losing(_ columns: some Sequence<Int>) -> Set<LostValue> {
            Set(columns.filter { row.values[$0] != values[$0] }.map { LostValue($0, values[$0]) })
        }
        if edit.isAnother(than: row) {
            // Two insertions under one key.
            guard values != row.values else { return }
            guard edit.at > row.at else {
                later = losing(values.indices)
                return
            }
            entry = .row(VersionRow(values: values, instants: values.map { _ in edit.at }, born: edit.born))
            standing = edit
            replaced = Set(values.indices.filter { row.values[$0] != values[$0] }.map { LostValue($0, row.values[$0]) })
            return
        }
        // Otherwise the edit is about a row that is gone.
        guard edit.born == row.born else {
            later = losing(columns.keys)
            return
        }
        let won = columns.filter { $0.value > row.instants[$0.key] }
        var merged = row
        for (column, at) in won { (merged.values[column], merged.instants[column]) = (values[column], at) }
        entry = .row(merged)
        if !won.isEmpty {
            var stands = edit
            stands.change = .columns(won, values: merged.values)
            standing = stands
        }
        later = losing(columns.keys.filter { won[$0] == nil })
        replaced = unseen(won.keys, of: row, edit)
    }

    /// The values of a version's row that an edit overwrites and whose author the edit's author had not seen.
    private func unseen(_ columns: some Sequence<Int>, of row: VersionRow, _ edit: Edit) -> Set<LostValue> {
        var known: [Instant]?
        if case .row(let seen) = edit.base { known = seen }
        var new: [OwnedValue]?
        if case .columns(_, let values) = edit.change { new = values }
        return Set(columns.filter { row.instants[$0] != known?[$0] && new?[$0] != row.values[$0] }.map { LostValue($0, row.values[$0]) })
    }
}

/// What of an edit has to give way because it does not fit beside other rows.
package enum Yielding: Hashable, Sendable {
    /// The whole edit.
    case all
    /// These columns.
    case columns(Set<Int>)

    package mutating func add(_ more: Set<Int>) {
        if case .columns(let columns) = self { self = .columns(columns.union(more)) }
    }
}

extension RowMerge {
    /// Puts an edit on what a version has under its key, without what does not fit beside other rows (rule 4).
    ///
    /// - Parameters:
    ///   - yielding: what gives way, with the columns that change together with them.
    ///   - orphan: the position of the column that marks a row whose deletion was not made; nil if the dataset has none.
    package init(_ edit: Edit, on found: VersionEntry?, horizon: Instant, restores: Bool, without yielding: Yielding?, orphan: Int?) {
        guard let yielding else {
            self.init(edit, on: found, horizon: horizon, restores: restores)
            return
        }
        guard let row = found?.shown else {
            // A new row: held.
            self.init(edit, on: found, horizon: horizon, restores: restores)
            if standing != nil, case .row(var row)? = entry {
                row.isHeld = true
                entry = .row(row)
            }
            return
        }
        guard case .columns(let columns, let values) = edit.change else {
            // The row stays, marked.
            if let orphan {
                var kept = row.values
                kept[orphan] = .integer(1)
                self.init(Edit(base: .row(row.instants), change: .columns([orphan: edit.at], values: kept), born: row.born), on: found, horizon: horizon)
                (later, replaced) = ([], [])
            } else {
                self.init(found, nil)
            }
            misfits = [.deletion]
            return
        }
        let lost: Set<Int>, isAnother = edit.isAnother(than: row)
        switch yielding {
        case .all: lost = Set(values.indices)
        case .columns(let named): lost = isAnother ? Set(values.indices) : named
        }
        let misfits = Set(lost.filter { (isAnother || columns[$0] != nil) && values[$0] != row.values[$0] }.map { LostValue($0, values[$0]) })
        let rest = columns.filter { !lost.contains($0.key) }
        if rest.isEmpty {
            self.init(found, nil)
        } else {
            var smaller = edit
            smaller.change = .columns(rest, values: values)
            self.init(smaller, on: found, horizon: horizon)
        }
        self.misfits = misfits
    }
}
