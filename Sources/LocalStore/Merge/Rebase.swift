package import LocalTables
package import SnapshotModel
package import StrictText

/// The place of a row: its dataset's position in the settings, and its key.
package struct RowPlace: Hashable, Comparable, Sendable {
    package let dataset: Int
    package let key: EntityKey

    package init(_ dataset: Int, _ key: EntityKey) {
        self.dataset = dataset
        self.key = key
    }

    package static func < (one: RowPlace, other: RowPlace) -> Bool { (one.dataset, one.key) < (other.dataset, other.key) }
}

/// What a version has besides the rows in the tables. Changes are part of the transaction, so that a savepoint takes them back.
package protocol VersionState {
    /// What the version has under a key: the row in its table, the held row, or the tombstone; nil if it has nothing.
    func entry(_ place: RowPlace) throws -> VersionEntry?
    /// The held rows, in any order.
    func heldRows() throws -> [(place: RowPlace, row: VersionRow)]
    /// Holds a row of the device.
    ///
    /// - Parameter gone: when the row was deleted that the device has brought back; nil for a row that it has inserted.
    func hold(_ row: VersionRow, restoring gone: Instant?, at place: RowPlace) throws
    func release(_ place: RowPlace) throws
    /// Called before a row of the version is written over.
    func willChange(_ place: RowPlace) throws
    /// The row that the device's own table showed before the version's rows were written; nil if it showed none.
    func ownRow(_ place: RowPlace) throws -> VersionRow?
}

/// The edits of one device.
package protocol EditSource {
    /// Passes on all edits, at most one for each place, in the order of their last changes.
    func forEach(_ body: (RowPlace, Edit) throws -> Void) throws
    func contains(_ place: RowPlace) throws -> Bool
}

/// Puts the edits of one device on the version that the tables hold.
///
/// The tables hold the version's rows in the places of the edits when ``run()`` begins, and the version's rows with the edits afterwards. It runs with
/// triggers and foreign keys off, as an import does.
///
/// Source: docs/internals/merge.md; `rebase` in Tests/Model/rules.py. Memory: the edits' keys, and the edits that do not stand as they are.
package final class Rebase {
    /// What became of the edits.
    package struct Outcome {
        /// The edits of which something loses, that stand only in part, or whose row the version does not show. All others stand as they are.
        package fileprivate(set) var merges: [RowPlace: RowMerge] = [:]
        /// The edits that restore a parent which the version has deleted.
        package fileprivate(set) var restored: [(place: RowPlace, edit: Edit)] = []
        /// The held rows that are in their tables now.
        package fileprivate(set) var released: [RowPlace] = []
        /// The new rows that are held.
        package fileprivate(set) var held: [RowPlace] = []
    }

    /// A standing edit in a round.
    private struct Placed {
        let isLoose: Bool
        /// The columns in which the row differs from the version's shown row; all of them for a new row; nil for a deletion.
        var changed: Set<Int>?
        /// The version's shown row.
        var before: VersionRow?
        /// Whether the row is held.
        var isHeld = false
    }

    private let transaction: LocalTransaction
    private let datasets: [DatasetSchema]
    private let state: any VersionState
    private let edits: any EditSource
    private let horizons: [Instant]
    private let links: DatasetLinks
    private let marksOrphans: Bool
    private let showsHeld: Bool
    private let restores: (Int, Edit) -> Bool
    private let groups: [(Set<Int>) -> Set<Int>]?
    private var knownGroups: [Int: ColumnGroups] = [:]
    private var rows: [Int: StashedRows] = [:]
    private var yielding: [RowPlace: Yielding] = [:]
    private var restored: [(place: RowPlace, edit: Edit)] = []

    /// - Parameters:
    ///   - horizons: for each dataset the latest instant of a tombstone that the version has dropped.
    ///   - groups: for each dataset, extends columns by those that change together with them; nil: as its table's constraints say.
    ///   - restores: whether a later edit brings back a row that the version has deleted.
    ///   - marksOrphans: whether a row whose deletion is not made is marked. A reader leaves that to the publisher.
    ///   - showsHeld: whether held rows are shown that fit. The publisher of a version has shown those that fit without edits; a table with fewer
    ///     constraints must not show more.
    package init(
        _ transaction: LocalTransaction, datasets: [DatasetSchema], state: any VersionState, edits: any EditSource, horizons: [Instant],
        groups: [(Set<Int>) -> Set<Int>]? = nil, restores: @escaping (_ dataset: Int, Edit) -> Bool = { _, _ in true }, marksOrphans: Bool = true,
        showsHeld: Bool = true
    ) throws {
        self.transaction = transaction
        self.datasets = datasets
        self.state = state
        self.edits = edits
        self.horizons = horizons
        links = try DatasetLinks(transaction, datasets)
        self.groups = groups
        self.restores = restores
        self.marksOrphans = marksOrphans
        self.showsHeld = showsHeld
    }

    package func run() throws -> Outcome {
        defer { for rows in rows.values { try? rows.drop() } }
        for held in try state.heldRows() { try create(held.place.dataset) }
        try edits.forEach { place, edit in
            try create(place.dataset)
            // A row that the device's own table does not show is held from the start.
            if edit.isHeld, try state.entry(place)?.shown == nil { yielding[place] = .all }
        }
        while true {
            let before = (yielding, restored.count)
            for one in restored { try create(one.place.dataset) }
            var outcome: Outcome?
            // A round that has to be repeated leaves nothing.
            _ = try transaction.attempting {
                outcome = try round()
                return outcome != nil
            }
            if let outcome { return outcome }
            guard yielding != before.0 || restored.count != before.1 else {
                throw SyncError(
                    database: .badRow, at: transaction.path,
                    "rows that were changed here fit neither beside the version's rows nor without their changes; nothing was changed",
                    hint: "compare the constraints of the tables with the publisher's, then run the same command again")
            }
        }
    }

    /// Creates the temporary table of a dataset. It must be there before a savepoint.
    private func create(_ dataset: Int) throws {
        guard rows[dataset] == nil else { return }
        let table = try StashedRows(transaction, datasets[dataset], table: "snapsync_rebased_\(dataset)")
        try table.create()
        rows[dataset] = table
    }

    // MARK: - One round

    /// Puts all edits on the version. Returns nil if something does not fit: ``yielding`` or ``restored`` then says what another round leaves out.
    private func round() throws -> Outcome? {
        var outcome = Outcome()
        outcome.restored = restored
        var placed: [RowPlace: Placed] = [:], waiting: [RowPlace] = []
        try forEachEdit { place, edit in
            let there = try state.entry(place), schema = datasets[place.dataset]
            let merge = RowMerge(
                edit, on: there, horizon: horizons[place.dataset], restores: restores(place.dataset, edit), without: yielding[place],
                orphan: marksOrphans ? links.orphanColumn(of: place.dataset) : nil)
            let isGone = !edit.inserts && there?.shown == nil
            if merge.standing != edit || isGone || !merge.later.isEmpty || !merge.replaced.isEmpty || !merge.misfits.isEmpty { outcome.merges[place] = merge }
            guard merge.standing != nil else { return }
            let before = there?.shown
            var one = Placed(isLoose: edit.isLoose, before: before)
            if there?.row?.isHeld == true { try state.release(place) }
            switch merge.entry {
            case .row(let row) where row.isHeld:
                one.isHeld = true
                one.changed = []
                try state.hold(row, restoring: merge.restored, at: place)
                outcome.held.append(place)
            case .row(let row):
                one.changed = Set(row.values.indices.filter { before?.values[$0] != row.values[$0] })
                if one.changed != [] {
                    if before != nil { try state.willChange(place) }
                    try stash(place.dataset).add(place.key, row.values)
                    if before != nil { _ = try transaction.rows.deleteEntity(place.key, of: schema) }
                    waiting.append(place)
                }
            case .deleted, nil:
                if let before {
                    try state.willChange(place)
                    try stash(place.dataset).add(place.key, before.values)
                    _ = try transaction.rows.deleteEntity(place.key, of: schema)
                }
            }
            placed[place] = one
        }
        // All are deleted before the first insertion: two rows may exchange a UNIQUE value.
        guard try insert(waiting, placed) else { return nil }
        if showsHeld { outcome.released = try release() }
        return try checkReferences(placed) ? outcome : nil
    }

    private func forEachEdit(_ body: (RowPlace, Edit) throws -> Void) throws {
        try edits.forEach(body)
        for one in restored { try body(one.place, one.edit) }
    }

    private func stash(_ dataset: Int) throws -> StashedRows {
        guard let table = rows[dataset] else { throw SyncError(database: .inputOutput, at: transaction.path, "a temporary table is missing") }
        return table
    }

    /// The columns, with those that change together with them.
    private func closed(_ columns: Set<Int>, _ dataset: Int) throws -> Set<Int> {
        if let groups { return groups[dataset](columns) }
        let known = try knownGroups[dataset] ?? ColumnGroups(transaction.db, datasets[dataset])
        knownGroups[dataset] = known
        return Set(known.closed(columns.sorted()))
    }

    private func yield(_ place: RowPlace, _ columns: Set<Int>) throws { yielding[place, default: .columns([])].add(try closed(columns, place.dataset)) }

    /// Inserts the rows of edits; returns false if one has a UNIQUE value of another row.
    private func insert(_ waiting: [RowPlace], _ placed: [RowPlace: Placed]) throws -> Bool {
        var fits = true
        for place in waiting {
            guard let one = placed[place], try !stash(place.dataset).insert(place.key) else { continue }
            fits = false
            let clashes = try stash(place.dataset).clashes(of: place.key)
            // A constraint of this table alone.
            if clashes.isEmpty { try yield(place, one.changed ?? []) }
            for clash in clashes {
                let rival = RowPlace(place.dataset, clash.rival)
                // The version's own value stays. Of two own rows, SQLite accepted the one that was changed later, so the other one was not in the table.
                let isVersions = placed[rival].map { isPublished(clash.columns, $0) } ?? true
                try yield(isVersions ? place : rival, clash.columns)
            }
        }
        return fits
    }

    /// Whether a row has the version's own values in some columns.
    private func isPublished(_ columns: Set<Int>, _ one: Placed) -> Bool { one.before != nil && one.changed?.isDisjoint(with: columns) == true }

    // MARK: - References

    private func checkReferences(_ placed: [RowPlace: Placed]) throws -> Bool {
        var orphans: [(RowPlace, Set<Int>)] = [], returns: [RowPlace: Edit] = [:], needed: [RowPlace] = []
        for (place, one) in placed {
            if let changed = one.changed {
                guard !one.isHeld, !one.isLoose, !changed.isEmpty else { continue }
                if let before = one.before {
                    for link in links.parents[place.dataset] where !link.parentColumns.isDisjoint(with: changed) {
                        try stash(place.dataset).add(place.key, before.values)
                        if try isNeeded(place, by: link, placed) { orphans.append((place, link.parentColumns)) }
                    }
                }
                for link in links.children[place.dataset] where !link.columns.isDisjoint(with: changed) {
                    guard try link.isDangling(place.key) else { continue }
                    let parent = try link.parent(of: place.key).map { RowPlace(link.parent, $0) }
                    if let parent, let gone = placed[parent], gone.changed == nil, gone.isLoose { continue }
                    if let parent, try !edits.contains(parent), !restored.contains(where: { $0.place == parent }), let own = try state.ownRow(parent),
                        case let there = try state.entry(parent), there?.row == nil
                    {
                        returns[parent] = .restoring(own, over: there, horizon: horizons[parent.dataset], orphan: links.orphanColumn(of: parent.dataset))
                    } else {
                        orphans.append((place, link.columns))
                    }
                }
            } else if one.before != nil, !one.isLoose, try links.parents[place.dataset].contains(where: { try isNeeded(place, by: $0, placed) }) {
                needed.append(place)
            }
        }
        if !orphans.isEmpty {
            for (place, columns) in orphans { try yield(place, columns) }
        } else if !returns.isEmpty {
            restored += returns.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        } else {
            for place in needed { yielding[place] = .all }
        }
        return orphans.isEmpty && returns.isEmpty && needed.isEmpty
    }

    /// Whether rows refer to the version's row, which is only in the stash, that did not lead nowhere on the device that made the edits.
    private func isNeeded(_ place: RowPlace, by link: DatasetLinks.Link, _ placed: [RowPlace: Placed]) throws -> Bool {
        try link.children(of: place.key, in: stash(place.dataset)).contains { child in
            let child = RowPlace(link.child, child)
            return child != place && placed[child]?.isLoose != true
        }
    }

    // MARK: - Held rows

    /// Shows held rows that fit, the earliest first, each with the held parents that it needs.
    private func release() throws -> [RowPlace] {
        var released: Set<RowPlace> = [], again = true
        while again {
            again = false
            // A deletion that is not put on this version stays one.
            let waiting = try state.heldRows().filter { place, _ in
                try edits.contains(place) || transaction.changeLog.change(of: place.key, in: datasets[place.dataset])?.isDeletion != true
            }.sorted { ($0.row.at, $0.place) < ($1.row.at, $1.place) }
            let held = Dictionary(uniqueKeysWithValues: waiting.map { ($0.place, $0.row) })
            for (place, _) in waiting where !released.contains(place) {
                var group: Set<RowPlace> = []
                let fits = try transaction.attempting {
                    group = []
                    return try show(place, from: held, in: &group)
                }
                if fits { released.formUnion(group) }
                again = again || fits
            }
        }
        return released.sorted()
    }

    /// Shows a held row and the parents that it needs: in a loop, since a chain of parents can be as long as the table.
    private func show(_ place: RowPlace, from held: [RowPlace: VersionRow], in group: inout Set<RowPlace>) throws -> Bool {
        var place = place, links: [(link: DatasetLinks.Link, child: EntityKey)] = []
        while true {
            guard group.insert(place).inserted, let row = held[place] else { return false }
            let rows = try stash(place.dataset)
            do {
                try rows.add(place.key, row.values)
            } catch let error as SyncError where error.database == .schemaMismatch {
                return false  // The table would change a value.
            }
            guard try rows.insert(place.key) else { return false }
            try state.release(place)
            links += self.links.children[place.dataset].reversed().map { ($0, place.key) }
            while let next = links.last, try !next.link.isDangling(next.child) { links.removeLast() }
            guard let (link, child) = links.popLast() else { return true }
            guard let parent = try link.parent(of: child) else { return false }
            place = RowPlace(link.parent, parent)
        }
    }
}
