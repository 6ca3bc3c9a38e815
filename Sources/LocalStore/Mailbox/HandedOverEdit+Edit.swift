package import SnapshotModel
import StrictText

extension HandedOverEdit {
    /// An edit of a row as a message carries it.
    package init(_ edit: Edit, number: Int64, key: EntityKey, of schema: DatasetSchema, _ codec: EntityCodec) throws {
        self.init(number: number, dataset: schema.name, key: key)
        func named(_ instants: [Int: Instant]) -> [Column] {
            instants.sorted { $0.key < $1.key }.map { Column(name: schema.columns[$0].name, at: max($1, .earliest)) }
        }
        at = max(edit.at, .earliest)
        born = max(edit.born, .earliest)
        if edit.isHeld { held = true }
        if edit.isLoose { loose = true }
        switch edit.base {
        case .nothing: break
        case .deleted(let at): base = Base(deletedAt: max(at, .earliest))
        case .row(let instants):
            let first = max(instants.min() ?? .earliest, .earliest)
            base = Base(at: first, columns: named(Dictionary(uniqueKeysWithValues: instants.enumerated().filter { $1 > first }.map { ($0, $1) })))
        }
        guard case .columns(let changed, let values) = edit.change else { return }
        row = try codec.text(schema, values)
        if changed.count < schema.columns.count || changed.values.contains(where: { $0 != edit.at }) { columns = named(changed) }
    }

    /// The edit as a message carries it: its row has no columns that a reader may not edit.
    package func permitted(in schema: DatasetSchema, _ codec: EntityCodec) throws -> HandedOverEdit {
        guard let row, let allowed = schema.permissions.columns?.union(schema.keyIndices), base?.at != nil else { return self }
        let values = try codec.values(schema, row), kept = schema.columns.indices.filter(allowed.contains)
        var edit = self
        edit.part = true
        edit.row = try codec.text(schema.with(columns: kept.map { schema.columns[$0] }), kept.map { values[$0] })
        return edit
    }

    /// The edit in terms of this device's description. Columns that it does not have are left out.
    package func edit(of schema: DatasetSchema, _ codec: EntityCodec) throws -> Edit {
        func instants(_ columns: [Column]) -> [Int: Instant] {
            let pairs = columns.compactMap { column in schema.columns.firstIndex { $0.name.exact == column.name.exact }.map { ($0, column.at) } }
            return Dictionary(pairs) { max($0, $1) }
        }
        let at = self.at ?? .earliest
        let seen: Edit.Base
        if let deleted = base?.deletedAt {
            seen = .deleted(deleted)
        } else if let base {
            let known = instants(base.columns ?? []), rest = base.at ?? .earliest
            seen = .row(schema.columns.indices.map { known[$0] ?? rest })
        } else {
            seen = .nothing
        }
        let change: Edit.Change
        if let row {
            let changed = columns.map(instants) ?? Dictionary(uniqueKeysWithValues: schema.columns.indices.map { ($0, at) })
            change = .columns(changed, values: try codec.values(schema, row))
        } else {
            change = .deleted(at)
        }
        var edit = Edit(base: seen, change: change, born: born ?? at, isHeld: held == true, isLoose: loose == true)
        // The version that takes the edit says no later instant.
        edit.born = min(edit.born, edit.at)
        return edit
    }
}
