package import SnapshotModel
package import StrictText

/// The version that the tables hold, for ``Rebase``: its rows, held rows, tombstones and instants.
package struct TableVersion: VersionState {
    private let transaction: LocalTransaction
    private let datasets: [DatasetSchema]
    private let codec: EntityCodec
    private let own: OwnEdits?

    /// - Parameter own: the edits of this device that were taken off the tables; nil if none were.
    package init(_ transaction: LocalTransaction, _ datasets: [DatasetSchema], _ codec: EntityCodec, own: OwnEdits?) {
        self.transaction = transaction
        self.datasets = datasets
        self.codec = codec
        self.own = own
    }

    package func entry(_ place: RowPlace) throws -> VersionEntry? {
        let schema = datasets[place.dataset], sink = LastRow()
        try transaction.rows.giveRow(place.key, of: schema, to: sink)
        if !sink.values.isEmpty {
            let own = try transaction.rows.ownInstant(of: place.key, in: schema)
            return .row(try row(sink.values, place, own: own))
        }
        if let held = try transaction.held.entity(place.key, of: schema) { return .row(try self.held(held, place)) }
        return try transaction.tombstonesAndInstants.tombstone(of: place.key, in: schema).map { .deleted($0) }
    }

    private func row(_ values: [OwnedValue], _ place: RowPlace, own: Instant?) throws -> VersionRow {
        let schema = datasets[place.dataset], instants = try transaction.tombstonesAndInstants.instants(of: place.key, in: schema)
        let row = instants.row ?? own ?? .distantPast
        return VersionRow(values: values, instants: schema.columns.map { instants.columns[$0.name.exact] ?? row }, born: instants.born ?? row)
    }

    private func held(_ text: String, _ place: RowPlace) throws -> VersionRow {
        var row = try row(codec.values(datasets[place.dataset], text), place, own: nil)
        row.isHeld = true
        return row
    }

    package func heldRows() throws -> [(place: RowPlace, row: VersionRow)] {
        try datasets.enumerated().flatMap { index, schema in
            var ofVersion: [(EntityKey, VersionRow)] = []
            try transaction.held.forEach(of: schema) { key, entity, reason in
                if reason == HeldRows.published { ofVersion.append((key, try held(entity, RowPlace(index, key)))) }
            }
            let waiting = try transaction.waiting.rows(of: schema).map { one in
                let values = try codec.values(schema, one.entity)
                return (one.key, VersionRow(values: values, instants: values.map { _ in one.at }, born: one.born, isHeld: true))
            }
            return (ofVersion + waiting).map { (place: RowPlace(index, $0.0), row: $0.1) }
        }
    }

    package func hold(_ row: VersionRow, at place: RowPlace) throws {
        let schema = datasets[place.dataset]
        try transaction.waiting.put(
            WaitingRow(key: place.key, entity: codec.text(schema, row.values), at: row.at, born: row.born), of: schema)
    }

    package func release(_ place: RowPlace) throws {
        try transaction.waiting.remove(place.key, of: datasets[place.dataset])
        try transaction.held.remove(place.key, of: datasets[place.dataset])
    }

    package func willChange(_ place: RowPlace) throws {
        // The instant of the columns that the edit leaves alone.
        try transaction.tombstonesAndInstants.keepOwnInstant(of: place.key, in: datasets[place.dataset])
    }

    package func ownRow(_ place: RowPlace) throws -> VersionRow? { try own?.lastParent(place) }
}
