package import LocalTables
package import SnapshotModel
package import StrictText

/// The version that the tables hold, for ``Rebase``: its rows, held rows, tombstones and instants.
package struct TableVersion: VersionState {
    private let transaction: LocalTransaction
    private let datasets: [DatasetSchema]
    private let codec: EntityCodec
    private let own: OwnEdits?
    private let hasChanges: Bool

    /// - Parameters:
    ///   - own: the edits of this device that were taken off the tables; nil if none were.
    ///   - hasChanges: whether the tables have this device's unpublished changes, which are then a part of the version. The log must have been
    ///     consolidated.
    package init(_ transaction: LocalTransaction, of datasets: [DatasetSchema], _ codec: EntityCodec, own: OwnEdits?, hasChanges: Bool = false) {
        self.hasChanges = hasChanges
        self.transaction = transaction
        self.datasets = datasets
        self.codec = codec
        self.own = own
    }

    package func entry(_ place: RowPlace) throws -> VersionEntry? {
        let schema = datasets[place.dataset], sink = RowValues()
        try transaction.rows.sendRow(place.key, of: schema, to: sink)
        if !sink.values.isEmpty {
            let own = try transaction.rows.ownInstant(of: place.key, in: schema)
            return .row(try row(sink.values, place, own: own))
        }
        if hasChanges, let row = try transaction.waiting.row(place.key, of: schema) { return .row(try waiting(row, schema)) }
        if hasChanges, let change = try transaction.changeLog.change(of: place.key, in: schema), change.isDeletion { return .deleted(change.instant) }
        if let held = try transaction.held.entity(place.key, of: schema) { return .row(try self.held(held, place)) }
        return try transaction.tombstonesAndInstants.tombstone(of: place.key, in: schema).map { .deleted($0) }
    }

    private func row(_ values: [OwnedValue], _ place: RowPlace, own: Instant?) throws -> VersionRow {
        let schema = datasets[place.dataset], instants = try transaction.tombstonesAndInstants.instants(of: place.key, in: schema)
        let change = try hasChanges ? transaction.changeLog.change(of: place.key, in: schema) : nil
        // If an unpublished change set the timestamp, it does not say when the version's row changed.
        let own = change.map { $0.changesTimestamp(of: schema) } == true ? change?.base : own
        let row = max(instants.row ?? own ?? .earliest, .earliest)
        var found = VersionRow(
            values: values, instants: schema.columns.map { instants.columns[$0.name.exact] ?? row }, born: max(instants.born ?? row, .earliest))
        guard let change else { return found }
        switch change.columns {
        case .all: found.instants = values.map { _ in max(change.instant, .earliest) }
        case .some(let columns): for (column, at) in columns where column < found.instants.count { found.instants[column] = max(at, .earliest) }
        }
        if let born = change.born { found.born = max(born, .earliest) }
        return found
    }

    private func waiting(_ row: WaitingRow, _ schema: DatasetSchema) throws -> VersionRow {
        let values = try codec.values(schema, row.entity)
        return VersionRow(values: values, instants: row.instants(of: schema), born: row.born, isHeld: true)
    }

    private func held(_ text: String, _ place: RowPlace) throws -> VersionRow {
        var row = try row(codec.values(datasets[place.dataset], text), place, own: nil)
        row.isHeld = true
        return row
    }

    package func heldRows() throws -> [(place: RowPlace, row: VersionRow)] {
        try datasets.enumerated().flatMap { index, schema in
            var found: [EntityKey: VersionRow] = [:]
            try transaction.held.forEach(of: schema, withEdited: !hasChanges) { key, entity, reason in
                guard reason == HeldRows.published else { return }
                if hasChanges, try transaction.changeLog.change(of: key, in: schema)?.isDeletion == true { return }
                found[key] = try held(entity, RowPlace(index, key))
            }
            // A row that this device holds stands for the version's held row with that key.
            for row in try transaction.waiting.rows(of: schema) { found[row.key] = try waiting(row, schema) }
            return found.map { (place: RowPlace(index, $0.key), row: $0.value) }
        }
    }

    package func hold(_ row: VersionRow, restoring gone: Instant?, at place: RowPlace) throws {
        let schema = datasets[place.dataset], at = row.at
        let columns = zip(schema.columns, row.instants).filter { $1 != at }.map { ($0.name.exact, $1) }
        try transaction.waiting.put(
            WaitingRow(
                key: place.key, entity: codec.text(schema, row.values), at: at, born: row.born, columns: Dictionary(uniqueKeysWithValues: columns),
                gone: gone),
            of: schema)
    }

    package func release(_ place: RowPlace) throws {
        try transaction.waiting.remove(place.key, of: datasets[place.dataset])
        try transaction.held.remove(place.key, of: datasets[place.dataset])
    }

    package func willChange(_ place: RowPlace) throws {
        let schema = datasets[place.dataset]
        // The base of an unpublished change that set the timestamp is that instant already.
        if hasChanges, try transaction.changeLog.change(of: place.key, in: schema)?.changesTimestamp(of: schema) == true { return }
        // The instant of the columns that the edit leaves alone.
        try transaction.tombstonesAndInstants.keepOwnInstant(of: place.key, in: schema)
    }

    package func ownRow(_ place: RowPlace) throws -> VersionRow? { try own?.lastParent(place) }
}
