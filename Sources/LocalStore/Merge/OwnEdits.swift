import GRDB
package import LocalTables
package import SnapshotModel
package import StrictText

/// The edits of this device that no version has: taken off the tables before an import writes a version, and put on it by ``Rebase``.
///
///     let own = try OwnEdits(transaction, of: datasets)    // before a row changes; nil: there are none
///     …                                                    // the tables become the version's
///     let outcome = try Rebase(transaction, datasets: datasets, state: state, edits: own, …).run()
///     try own.settle(outcome)
///
/// Valid inside the transaction that it was made in; the log must have been consolidated. Temporary tables hold the rows. Memory: none for each edit.
package final class OwnEdits: EditSource {
    /// The edits of one dataset.
    private struct Part {
        let index: Int
        let schema: DatasetSchema
        let id: Int64
        let rows: StashedRows

        /// The rows `c` of the edits.
        var children: String {
            "main.snapsync_changes x CROSS JOIN main.\(schema.table.sqlIdentifier) c ON x.dataset = \(id) AND x.state < \(TrackedState.deleted) AND \(schema.keySQL.matches("c", "x.key"))"
        }
    }

    private let transaction: LocalTransaction
    private let datasets: [DatasetSchema]
    private let codec: EntityCodec
    private let links: DatasetLinks
    private var parts: [Part] = []
    /// The last rows of parents that the edits' rows refer to, by the dataset's position.
    private var parents: [Int: StashedRows] = [:]
    /// The edits whose references, or whose deleted rows' children, lead nowhere in this device's own tables.
    private var loose: Set<RowPlace> = []
    /// The held rows of this device in whose places the application has inserted other rows. The caller writes them to the journal.
    package private(set) var overwritten: [(place: RowPlace, row: WaitingRow)] = []
    /// The rows that were held before.
    private var waiting: [(place: RowPlace, row: WaitingRow)] = []
    /// The changes that nobody made: rows have this table's defaults. No journal needs them.
    package private(set) var defaulted: Set<RowPlace> = []
    /// The rows that are older than the database's first version.
    package private(set) var older: Set<RowPlace> = []
    /// The edits that the version which is imported has decided, each row's as one.
    package private(set) var decided: [RowPlace: Edit] = [:]
    /// These edits one by one, in the order of their numbers.
    private var answered: [RowPlace: [Edit]] = [:]
    /// Edits that the import adds: parents that rows of this device need, and what ``add(_:at:)`` was given.
    private var added: [(place: RowPlace, edit: Edit)] = []
    private var returned: [(place: RowPlace, edit: Edit?)] = []
    /// For each dataset the keys that the import writes; nil for all. The other edits stay on rows that the import does not write.
    private var touched: [Set<EntityKey>?]
    /// The rows of which the import writes only these columns. The others are as they were here.
    private var partial: [RowPlace: Set<Int>] = [:]
    private let first: Set<Int>
    /// The columns of each dataset of which this device has seen nothing: its table got them after a version did, or the dataset had left the zone.
    package var unseen: [Set<Int>]
    private var db: Database { transaction.db }

    /// Differs from every instant of a version.
    private static let never = Instant.earliest.advanced(byMicroseconds: -1)
    private static let bases = "temp.snapsync_bases"
    private static let gone = "temp.snapsync_bases_gone"

    /// Copies the rows of the edits and what the present version says of them.
    ///
    /// - Parameters:
    ///   - first: the positions of the datasets of which this device has no version yet. Their rows are insertions; with the policy `replace` the
    ///     earliest ones.
    ///   - isReading: whether the edits are only read. Nothing is changed then, and also nothing that only an import decides.
    ///   - isNeeded: whether to return no nil, even if there are no edits.
    ///   - decided: the edits that the version which is imported has decided, in the order of their numbers.
    package init?(
        _ transaction: LocalTransaction, of datasets: [DatasetSchema], _ codec: EntityCodec, first: Set<Int> = [], isReading: Bool = false,
        isNeeded: Bool = false, decided: [HandedOverEdit] = []
    ) throws {
        self.first = first
        self.transaction = transaction
        self.datasets = datasets
        self.codec = codec
        links = try DatasetLinks(transaction, datasets)
        (touched, unseen) = (datasets.map { _ in [] }, datasets.map { _ in [] })
        for (index, schema) in datasets.enumerated() {
            guard try transaction.changeLog.hasChanges(of: schema), let id = try transaction.trackingID(schema) else { continue }
            parts.append(Part(index: index, schema: schema, id: id, rows: try StashedRows(transaction, schema, table: "snapsync_edits_\(index)")))
        }
        if !isReading { overwritten = try transaction.waiting.takeOverwritten(of: datasets) }
        for (index, schema) in datasets.enumerated() {
            for row in try transaction.waiting.rows(of: schema) {
                let place = RowPlace(index, row.key)
                switch try transaction.changeLog.change(of: row.key, in: schema)?.isDeletion {
                case true where isReading, false: break
                case nil: waiting.append((place, row))
                case true:
                    // A row that the application inserted under the key, and deleted.
                    try transaction.changeLog.hold(row.key, in: schema)
                    waiting.append((place, row))
                }
            }
        }
        guard isNeeded || !parts.isEmpty || !waiting.isEmpty || !decided.isEmpty else { return nil }
        // Rebase holds again what still does not fit.
        if !isReading { for one in waiting { try transaction.waiting.remove(one.row.key, of: datasets[one.place.dataset]) } }
        try db.execute(
            sql: """
                DROP TABLE IF EXISTS \(Self.bases);
                DROP TABLE IF EXISTS \(Self.gone);
                CREATE TEMP TABLE snapsync_bases(dataset INTEGER, key, at, rest, born, columns, PRIMARY KEY(dataset, key)) WITHOUT ROWID;
                CREATE TEMP TABLE snapsync_bases_gone(dataset INTEGER, key, at, PRIMARY KEY(dataset, key)) WITHOUT ROWID;
                """)
        for part in parts {
            let key = part.schema.keySQL.value(of: "t")
            try part.rows.create(
                where:
                    "EXISTS (SELECT 1 FROM main.snapsync_changes c WHERE c.dataset = \(part.id) AND c.key = \(key) AND c.state < \(TrackedState.deleted))")
            for (copy, table) in [(Self.bases, LocalTable.instants.name), (Self.gone, LocalTable.tombstones.name)] {
                try db.execute(
                    sql: """
                        INSERT INTO \(copy) SELECT i.* FROM main.\(table) i CROSS JOIN main.snapsync_changes c ON c.dataset = i.dataset AND c.key = i.key
                        WHERE i.dataset = ?
                        """, arguments: [part.id])
            }
        }
        try addParents()
        for one in decided {
            guard let key = one.key, let index = datasets.firstIndex(where: { $0.name.exact == one.dataset?.exact }) else { continue }
            answered[RowPlace(index, key), default: []].append(try one.edit(of: datasets[index], codec))
        }
        self.decided = answered.mapValues { edits in edits.dropFirst().reduce(edits[0]) { $0.born == $1.born ? $0.followed(by: $1) : $1 } }
    }

    /// Takes edits that the version has decided out of this device's. Call it once the dataset's rows are written: until then, the tracked changes say
    /// what the version before has.
    package func settleDecided(of schema: DatasetSchema) throws {
        for (place, edits) in answered where datasets[place.dataset].name == schema.name {
            try transaction.changeLog.settle(edits, of: place.key, in: schema)
            let waits = waiting.filter { $0.place == place && $0.row.at <= edits[edits.count - 1].at }
            for one in waits { try transaction.waiting.remove(one.row.key, of: schema) }
            waiting.removeAll { one in waits.contains { $0.place == one.place } }
        }
    }

    /// Whether edits are left, of rows that the import writes or of others. Carried and default values do not count.
    package func hasEdits() throws -> Bool {
        let made = "SELECT EXISTS (SELECT 1 FROM snapsync_changes WHERE dataset = ? AND cause <= \(ChangeCause.edit))"
        return try !waiting.isEmpty || !added.isEmpty || parts.contains { try KeyedStatement(db, made).bind(.integer($0.id)).integer() == 1 }
    }

    /// Whether the import writes all rows whose edits the version has decided. It need not write the row of an edit that was refused.
    package var writesDecided: Bool { decided.keys.allSatisfy { isTouched($0.key, $0.dataset) } }

    /// Restores parents that the version has deleted while it took a row of this device that needs them.
    ///
    /// - Parameters:
    ///   - horizons: for each dataset the latest instant of a tombstone that the version has dropped.
    ///   - state: the version.
    package func restoreParents(over state: some VersionState, horizons: [Instant]) throws {
        for (place, edit) in decided {
            guard !edit.isLoose, let row = try state.entry(place)?.row, row.isHeld, row.born == edit.born else { continue }
            guard let part = parts.first(where: { $0.index == place.dataset }) else { continue }
            guard try part.rows.rivals(of: place.key).isEmpty else { continue }
            for link in links.children[place.dataset] {
                guard datasets[link.parent].permissions.inserts, let key = try link.parent(of: place.key, in: part.rows) else { continue }
                let parent = RowPlace(link.parent, key), there = try state.entry(parent)
                guard there?.row == nil, !isAdded(parent), let own = try lastParent(parent) else { continue }
                let edit = Edit.restoring(own, over: there, horizon: horizons[parent.dataset], orphan: links.orphanColumn(of: parent.dataset))
                // A later edit of this device brings the parent back by itself.
                if let change = try transaction.changeLog.change(of: key, in: datasets[link.parent]), change.instant >= edit.at { continue }
                added.append((parent, edit))
            }
        }
    }

    /// Adds an edit that the import itself makes, in place of this device's edit of the row.
    package func add(_ edit: Edit, at place: RowPlace) { added.append((place, edit)) }

    /// Records that the import writes the rows of a dataset: those with some keys, or (nil) all.
    ///
    /// - Parameter columns: the columns that it writes of rows that it does not write whole.
    package func touch(_ keys: [EntityKey]?, partial columns: [EntityKey: Set<Int>] = [:], of schema: DatasetSchema) {
        guard let index = datasets.firstIndex(where: { $0.name == schema.name }) else { return }
        guard let keys, touched[index] != nil else {
            touched[index] = nil
            return
        }
        for key in keys {
            let place = RowPlace(index, key), isFirst = touched[index]?.insert(key).inserted ?? false
            partial[place] = columns[key].flatMap { more in isFirst ? more : partial[place]?.union(more) }
        }
    }

    /// Whether the tables have the version's values of all columns of the rows that the import writes. A column that an edit changed has this device's
    /// value unless the import writes it. An edit of other columns than those that the import writes stays on its row.
    package func knowsVersion() throws -> Bool {
        try partial.allSatisfy { place, columns in
            guard touched[place.dataset] != nil else { return true }
            let schema = datasets[place.dataset], known = columns.union(schema.keyIndices)
            if let change = try transaction.changeLog.change(of: place.key, in: schema) {
                guard !change.isDeletion, case .some(let own) = change.columns else { return false }
                // A row that has this device's timestamp does not say what the version's instants are.
                if decided[place] == nil, change.isInVersion == true, known.isDisjoint(with: own.keys), schema.timestampIndex.flatMap({ own[$0] }) == nil {
                    touched[place.dataset]?.remove(place.key)
                    return true
                }
                guard known.isSuperset(of: own.keys) else { return false }
            }
            guard let edit = decided[place] else { return true }
            guard case .columns(let own, _) = edit.change else { return false }
            return known.isSuperset(of: own.keys)
        }
    }

    /// Drops the temporary tables.
    package func end() throws {
        for rows in parts.map(\.rows) + parents.values { try rows.drop() }
        try db.execute(sql: "DROP TABLE IF EXISTS \(Self.bases); DROP TABLE IF EXISTS \(Self.gone)")
    }

    // MARK: - The edits

    package func forEach(_ body: (RowPlace, Edit) throws -> Void) throws {
        for part in parts {
            let rows = try transaction.rows.lookup(of: part.rows.stashed), sink = RowValues()
            let changes = try KeyedStatement(db, "SELECT \(TrackedChange.sqlColumns) FROM snapsync_changes WHERE dataset = ? ORDER BY seq, key").bind(
                .integer(part.id))
            defer { changes.end() }
            while try changes.step() {
                guard let change = TrackedChange(changes, part.schema), isTouched(change.key, part.index) else { continue }
                // The row is added as it is here, edits included.
                if isAdded(RowPlace(part.index, change.key)) { continue }
                if change.isDefaulted { defaulted.insert(RowPlace(part.index, change.key)) }
                if change.instant == .distantPast, change.isInVersion == false { older.insert(RowPlace(part.index, change.key)) }
                var values: [OwnedValue]?
                if !change.isDeletion {
                    guard try rows.send(change.key, to: sink) else { continue }
                    values = sink.values
                }
                try body(RowPlace(part.index, change.key), edit(change, values, of: part))
            }
        }
        for (place, one) in waiting {
            let schema = datasets[place.dataset], values = try codec.values(schema, one.entity)
            var columns = Dictionary(uniqueKeysWithValues: one.instants(of: schema).enumerated().map { ($0, $1) }), base = Edit.Base.nothing
            if let gone = one.gone {
                // The columns that were not edited are as old as the deletion.
                columns = columns.filter { $1 > gone }
                base = .row(values.map { _ in gone })
            }
            try body(place, Edit(base: base, change: .columns(columns, values: values), born: one.born, isHeld: true))
        }
        for one in added { try body(one.place, one.edit) }
    }

    package func contains(_ place: RowPlace) throws -> Bool {
        if waiting.contains(where: { $0.place == place }) || isAdded(place) { return true }
        return try isTouched(place.key, place.dataset) && transaction.changeLog.change(of: place.key, in: datasets[place.dataset]) != nil
    }

    private func isAdded(_ place: RowPlace) -> Bool { added.contains { $0.place == place } }

    private func isTouched(_ key: EntityKey, _ dataset: Int) -> Bool { touched[dataset]?.contains(key) ?? true }

    private func edit(_ change: TrackedChange, _ values: [OwnedValue]?, of part: Part) throws -> Edit {
        let seen = try base(of: change.key, id: part.id)
        let columns = part.schema.columns
        let place = RowPlace(part.index, change.key), decided = decided[place]
        let own = max(
            try seen.row ?? (values == nil || decided != nil || change.changesTimestamp(of: part.schema) ? change.base : rowInstant(change.key, part))
                ?? .earliest,
            .earliest)
        let base: Edit.Base =
            // The row was inserted again after a deletion that the version has decided.
            if let decided, decided.isDeletion, !change.isOfVersion {
                .deleted(decided.at)
            } else if !first.contains(part.index), change.isOfVersion || seen.row != nil && change.born == seen.born(own: nil) {
                // A row that was inserted here is the version's by now if that says the same of its insertion.
                .row(
                    columns.enumerated().map { column, one in
                        unseen[part.index].contains(column) ? Self.never : decided?.instant(of: column) ?? seen.columns[one.name.exact] ?? own
                    })
            } else {
                try deletion(of: change.key, id: part.id).map { .deleted($0) } ?? .nothing
            }
        let changed: Edit.Change
        let isFirst = first.contains(part.index), at = isFirst && part.schema.merge == .replace ? .distantPast : change.instant
        if let values {
            switch change.columns {
            case .some(let some) where !isFirst: changed = .columns(some, values: values)
            default: changed = .columns(Dictionary(uniqueKeysWithValues: columns.indices.map { ($0, at) }), values: values)
            }
        } else {
            changed = .deleted(at)
        }
        let born = change.born ?? decided?.born ?? seen.born ?? own
        return Edit(base: base, change: changed, born: max(born, .earliest), isLoose: loose.contains(place))
    }

    // MARK: - References

    /// Copies the rows that the edits' rows refer to, and the rows that those refer to, and finds the references that lead nowhere.
    private func addParents() throws {
        for part in parts {
            for link in links.children[part.index] {
                _ = try add(parentsOf: part.children, link)
                for key in try link.dangling(among: part.children) { loose.insert(RowPlace(part.index, key)) }
            }
            for link in links.parents[part.index] {
                for key in try link.deletedParents(tracked: part.id) { loose.insert(RowPlace(part.index, key)) }
            }
        }
        var grew = !parents.isEmpty
        while grew {
            grew = false
            for (index, rows) in parents {
                for link in links.children[index] { grew = try add(parentsOf: "\(rows.table) c", link) || grew }
            }
        }
        for (index, rows) in parents {
            guard let id = try transaction.trackingID(datasets[index]) else { continue }
            let key = datasets[index].keySQL.value(of: "p")
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO \(Self.bases) SELECT i.* FROM \(rows.table) p CROSS JOIN main.snapsync_instants i ON i.dataset = ? AND i.key = \(key)
                    """, arguments: [id])
        }
    }

    private func add(parentsOf children: String, _ link: DatasetLinks.Link) throws -> Bool {
        let rows: StashedRows
        if let known = parents[link.parent] {
            rows = known
        } else {
            rows = try StashedRows(transaction, datasets[link.parent], table: "snapsync_parents_\(link.parent)")
            try rows.create()
            parents[link.parent] = rows
        }
        return try link.copyParents(of: children, into: rows)
    }

    /// The row that this device's table had before the import, if a row of an edit refers to it.
    package func lastParent(_ place: RowPlace) throws -> VersionRow? {
        guard let rows = parents[place.dataset], let id = try transaction.trackingID(datasets[place.dataset]) else { return nil }
        let sink = RowValues()
        guard try transaction.rows.lookup(of: rows.stashed).send(place.key, to: sink) else { return nil }
        let seen = try base(of: place.key, id: id)
        let own = max(try seen.row ?? transaction.rows.ownInstant(of: place.key, in: rows.stashed) ?? .earliest, .earliest)
        return VersionRow(values: sink.values, instants: sink.values.map { _ in own }, born: max(seen.born ?? own, .earliest))
    }

    /// Whether the row of an edit that the import does not write refers to a row that the import has deleted.
    package func hasOrphans() throws -> Bool {
        for part in parts {
            for link in links.children[part.index] {
                for key in try link.dangling(among: part.children) where !isTouched(key, part.index) && !loose.contains(RowPlace(part.index, key)) {
                    return true
                }
            }
        }
        return false
    }

    /// The instant of the own timestamp of a row.
    private func rowInstant(_ key: EntityKey, _ part: Part) throws -> Instant? { try transaction.rows.ownInstant(of: key, in: part.rows.stashed) }

    /// What the version before the import says of a row.
    private func base(of key: EntityKey, id: Int64) throws -> RowInstants {
        let found = try KeyedStatement(db, "SELECT at, rest, born, columns FROM \(Self.bases) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key))
        defer { found.end() }
        return try found.step() ? RowInstants(found, from: 0) : RowInstants()
    }

    private func deletion(of key: EntityKey, id: Int64) throws -> Instant? {
        try KeyedStatement(db, "SELECT at FROM \(Self.gone) WHERE dataset = ? AND key = ?").bind(.integer(id), .key(key)).integer().map(
            Instant.init(microseconds:))
    }
}

extension OwnEdits {
    /// Stores what is left of the edits.
    ///
    /// - Parameter publishes: whether this device publishes. Then its next version shows the held rows that are shown here. On a reader they are shown as
    ///   long as its edits let them fit.
    package func settle(_ outcome: Rebase.Outcome, publishes: Bool) throws {
        let held = Set(outcome.held).subtracting(outcome.released)
        func settle(_ place: RowPlace, _ edit: Edit?) throws {
            let schema = datasets[place.dataset]
            guard let edit else { return try transaction.changeLog.forget(of: place.key, in: schema) }
            // Another row can be inserted under the key of a held one, and a held one can be deleted.
            let merge = outcome.merges[place], deletesHeld = edit.isDeletion && merge?.found?.row?.isHeld == true
            let isInVersion = deletesHeld ? nil : merge.map { $0.found?.shown != nil } ?? !edit.inserts
            try transaction.changeLog.store(edit, of: place.key, in: schema, isInVersion: isInVersion, restoring: merge?.restored)
        }
        try forEach { place, edit in
            // A row that waited, or that the import adds, is tracked once it is in its table.
            guard edit.isHeld || isAdded(place), !held.contains(place) else { return }
            returned.append((place, outcome.merges[place].map(\.standing) ?? edit))
            try transaction.waiting.remove(place.key, of: datasets[place.dataset])
        }
        for (place, merge) in outcome.merges where !held.contains(place) { try settle(place, merge.standing) }
        for place in held { try transaction.changeLog.hold(place.key, in: datasets[place.dataset]) }
        for (place, edit) in returned { try settle(place, edit) }
        for one in outcome.restored where !held.contains(one.place) { try settle(one.place, outcome.merges[one.place].map(\.standing) ?? one.edit) }
        let own = Set(returned.map(\.place))
        for place in outcome.released where !own.contains(place) && outcome.merges[place]?.standing == nil {
            try transaction.changeLog.trackShown(place.key, of: datasets[place.dataset], publishes: publishes)
        }
        for part in parts { try part.rows.putBack(transaction.changeLog.misfits(of: part.schema, id: part.id, where: "state < \(TrackedState.deleted)")) }
    }
}
