import Foundation
import GRDB
@testable import LocalStore
@testable import LocalTables
import SnapshotModel
import StrictText

/// A case of Tests/Model/cases.py: a version, the edits of a device, and what the model says of them.
struct ModelCase: Decodable {
    struct Table: Decodable {
        struct Reference: Decodable {
            let column: String
            let parent: String

            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                (column, parent) = (try list.decode(String.self), try list.decode(String.self))
            }
        }

        let columns: [String]
        let unique: [[String]]
        let references: [Reference]
        let together: [[String]]
        let orphan: String?
    }

    struct Place: Decodable, Hashable {
        let table: String
        let key: Int64

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            (table, key) = (try list.decode(String.self), try list.decode(Int64.self))
        }
    }

    struct Entry: Decodable {
        let at: Place
        let values: [String: Value]?
        let instants: [String: Int64]?
        let born: Int64?
        let held: Bool?
        let deleted: Int64?
    }

    struct EditOfCase: Decodable {
        struct Base: Decodable {
            let row: [String: Int64]?
            let deleted: Int64?
        }

        let at: Place
        let base: Base
        let deleted: Int64?
        let changed: [String: Int64]?
        let values: [String: Value]?
        let born: Int64
        let held: Bool
        let loose: Bool
    }

    struct Lost: Decodable, Hashable {
        let table: String
        let key: Int64
        let column: String?
        let value: Value?

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            (table, key) = (try list.decode(String.self), try list.decode(Int64.self))
            column = try list.decodeNil() ? nil : list.decode(String.self)
            let value = try list.decode(Value.self)
            self.value = column == nil ? nil : value
        }

        init(_ table: String, _ key: Int64, _ column: String?, _ value: Value?) {
            (self.table, self.key, self.column, self.value) = (table, key, column, value)
        }
    }

    /// An integer, a text or NULL.
    struct Value: Decodable, Hashable {
        let owned: OwnedValue

        init(_ owned: OwnedValue) { self.owned = owned }

        init(from decoder: any Decoder) throws {
            let one = try decoder.singleValueContainer()
            if one.decodeNil() {
                owned = .null
            } else if let integer = try? one.decode(Int64.self) {
                owned = .integer(integer)
            } else {
                owned = OwnedValue(try one.decode(String.self))
            }
        }
    }

    let tables: [String: Table]
    let rows: [Entry]
    let edits: [EditOfCase]
    let horizon: Int64
    let own: [Entry]
    let shown: [Entry]
    let waiting: [Entry]
    let standing: [EditOfCase]
    let later: [Lost]
    let replaced: [Lost]
    let misfits: [Lost]
}

extension ModelCase {
    private var names: [String] { tables.keys.sorted() }

    /// Runs the rules on tables, and compares. Returns what differs, as text; nil if nothing does.
    func difference(in transaction: LocalTransaction) throws -> String? {
        let names = names
        try transaction.db.execute(sql: "DROP TABLE IF EXISTS held")
        for name in names { try transaction.db.execute(sql: "DROP TABLE IF EXISTS \(name)") }
        let schemas = try names.map { try create($0, in: transaction.db) }
        transaction.knownForeignKeys = nil
        try transaction.db.execute(sql: "CREATE TABLE held(number INTEGER PRIMARY KEY)")
        let state = try ModelState(self, names, schemas, transaction)
        let list = EditList(edits.map { (place($0.at, names), edit($0, names)) })
        let outcome = try Rebase(
            transaction, datasets: schemas, state: state, edits: list, horizons: names.map { _ in Instant(microseconds: horizon) },
            groups: names.map { name in { closing($0, name) } }
        ).run()
        var found: [String] = []
        for (index, name) in names.enumerated() {
            let wanted = Dictionary(uniqueKeysWithValues: shown.filter { $0.at.table == name }.map { ($0.at.key, values($0.values, $0.at)) })
            let rows = try state.rows(index)
            if rows != wanted { found.append("\(name): \(rows) is not \(wanted)") }
        }
        let held = Dictionary(uniqueKeysWithValues: try state.heldRows().map { ($0.place, $0.row.values) })
        let wanted = Dictionary(uniqueKeysWithValues: waiting.map { (place($0.at, names), values($0.values, $0.at)) })
        if held != wanted { found.append("held: \(held) is not \(wanted)") }
        var standing: [RowPlace: Edit] = [:], lost = (later: Set<Lost>(), replaced: Set<Lost>(), misfits: Set<Lost>())
        func note(_ values: Set<LostValue>, _ place: RowPlace, _ all: inout Set<Lost>) {
            guard case .integer(let key) = place.key else { return }
            // The model does not have the key as a column.
            for one in values where one.column != 0 {
                let columns = ["id"] + (tables[names[place.dataset]]?.columns ?? [])
                all.insert(Lost(names[place.dataset], key, one.column.map { columns[$0] }, one.value.map { Value($0) }))
            }
        }
        try list.forEach { place, edit in
            guard let merge = outcome.merges[place] else {
                standing[place] = edit
                return
            }
            standing[place] = merge.standing
            note(merge.later, place, &lost.later)
            note(merge.replaced, place, &lost.replaced)
            note(merge.misfits, place, &lost.misfits)
        }
        for one in outcome.restored {
            standing[one.place] = outcome.merges[one.place].map { $0.standing } ?? one.edit
            if let merge = outcome.merges[one.place] { note(merge.replaced, one.place, &lost.replaced) }
        }
        for one in list.dropped { note([one.lost], one.place, &lost.later) }
        let wantedEdits = Dictionary(uniqueKeysWithValues: self.standing.map { (place($0.at, names), edit($0, names)) })
        for place in Set(standing.keys).union(wantedEdits.keys) {
            let one = standing[place].map(comparable), other = wantedEdits[place].map(comparable)
            if one != other { found.append("\(place): \(one.map { "\($0)" } ?? "none") is not \(other.map { "\($0)" } ?? "none")") }
        }
        for (what, one, other) in [("later", lost.later, later), ("replaced", lost.replaced, replaced), ("misfits", lost.misfits, misfits)]
        where one != Set(other) {
            found.append("\(what): \(one) is not \(other)")
        }
        return found.isEmpty ? nil : found.joined(separator: "\n")
    }

    /// An edit without what the model does not have: the key as a column.
    private func comparable(_ edit: Edit) -> Edit {
        var one = edit
        if case .columns(var columns, let values) = edit.change {
            columns[0] = nil
            one.change = .columns(columns, values: values)
        }
        if case .row(var instants) = edit.base {
            instants[0] = .distantPast
            one.base = .row(instants)
        }
        return one
    }

    private func create(_ name: String, in db: Database) throws -> DatasetSchema {
        guard let table = tables[name] else { throw CocoaError(.coderInvalidValue) }
        let columns = columns(name).dropFirst().map { $0 == "isOrphan" ? "isOrphan BOOLEAN" : $0 }
        let unique = table.unique.map { "UNIQUE(\($0.joined(separator: ", ")))" }
        let references = table.references.map { "FOREIGN KEY(\($0.column)) REFERENCES \($0.parent)(id)" }
        try db.execute(sql: "CREATE TABLE \(name)(\((["id INTEGER PRIMARY KEY"] + columns + unique + references).joined(separator: ", ")))")
        return try DatasetSchema(name: name, table: name, keys: ["id"], timestamp: nil, columns: self.columns(name).map { DatasetColumn($0) })
    }

    /// The columns of a table: the key, and those of the model.
    func columns(_ name: String) -> [String] {
        guard let table = tables[name] else { return [] }
        return ["id"] + table.columns.map { $0 == table.orphan ? "isOrphan" : $0 }
    }

    private func closing(_ columns: Set<Int>, _ name: String) -> Set<Int> {
        let names = tables[name]?.columns ?? []
        let groups = (tables[name]?.together ?? []).map { Set($0.compactMap { names.firstIndex(of: $0).map { $0 + 1 } }) }
        var closed = columns, size = -1
        while size != closed.count {
            size = closed.count
            for group in groups where !group.isDisjoint(with: closed) { closed.formUnion(group) }
        }
        return closed
    }

    func place(_ place: Place, _ names: [String]) -> RowPlace { RowPlace(names.firstIndex(of: place.table) ?? 0, .integer(place.key)) }

    func values(_ values: [String: Value]?, _ place: Place) -> [OwnedValue] {
        [.integer(place.key)] + (tables[place.table]?.columns ?? []).map { values?[$0]?.owned ?? .null }
    }

    private func instants(_ instants: [String: Int64]?, _ table: String) -> [Instant] {
        [.distantPast] + (tables[table]?.columns ?? []).map { instants?[$0].map { Instant(microseconds: $0) } ?? .distantPast }
    }

    func entry(_ one: Entry) -> VersionEntry {
        if let deleted = one.deleted { return .deleted(Instant(microseconds: deleted)) }
        return .row(
            VersionRow(
                values: values(one.values, one.at), instants: instants(one.instants, one.at.table), born: Instant(microseconds: one.born ?? 0),
                isHeld: one.held ?? false))
    }

    private func edit(_ one: EditOfCase, _ names: [String]) -> Edit {
        let columns = tables[one.at.table]?.columns ?? []
        let changed = (one.changed ?? [:]).map { name, at in ((columns.firstIndex(of: name) ?? 0) + 1, Instant(microseconds: at)) }
        return Edit(
            base: one.base.row.map { .row(instants($0, one.at.table)) } ?? one.base.deleted.map { .deleted(Instant(microseconds: $0)) } ?? .nothing,
            change: one.deleted.map { .deleted(Instant(microseconds: $0)) }
                ?? .columns(Dictionary(uniqueKeysWithValues: changed), values: values(one.values, one.at)),
            born: Instant(microseconds: one.born), isHeld: one.held, isLoose: one.loose)
    }
}

/// The version of a case. Which rows are held is in a table, so that a savepoint takes it back.
private final class ModelState: VersionState {
    private var entries: [(place: RowPlace, entry: VersionEntry)]
    private var numbers: [RowPlace: Int] = [:]
    private let own: [RowPlace: VersionRow]
    private let schemas: [DatasetSchema]
    private let transaction: LocalTransaction

    init(_ one: ModelCase, _ names: [String], _ schemas: [DatasetSchema], _ transaction: LocalTransaction) throws {
        self.schemas = schemas
        self.transaction = transaction
        entries = one.rows.map { (one.place($0.at, names), one.entry($0)) }
        own = Dictionary(uniqueKeysWithValues: one.own.compactMap { entry in one.entry(entry).row.map { (one.place(entry.at, names), $0) } })
        for (number, entry) in entries.enumerated() {
            numbers[entry.place] = number
            guard case .row(let row) = entry.entry else { continue }
            if row.isHeld { try mark(number) } else { try put(row.values, entry.place.dataset) }
        }
    }

    private func put(_ values: [OwnedValue], _ dataset: Int) throws {
        let applier = try transaction.rows.inserting(into: schemas[dataset])
        try values.lending { try applier.receive($0) }
    }

    private func mark(_ number: Int) throws { try transaction.db.execute(sql: "INSERT OR IGNORE INTO held VALUES(?)", arguments: [number]) }

    private func isHeld(_ number: Int) throws -> Bool {
        try Bool.fetchOne(transaction.db, sql: "SELECT EXISTS (SELECT 1 FROM held WHERE number = ?)", arguments: [number]) ?? false
    }

    func entry(_ place: RowPlace) throws -> VersionEntry? {
        guard let number = numbers[place] else { return nil }
        guard case .row(var row) = entries[number].entry else { return number < entries.count ? entries[number].entry : nil }
        row.isHeld = try isHeld(number)
        // A row that only an edit of an earlier round held is none.
        if !row.isHeld, row.values.isEmpty { return nil }
        return .row(row)
    }

    func heldRows() throws -> [(place: RowPlace, row: VersionRow)] {
        try Int.fetchAll(transaction.db, sql: "SELECT number FROM held ORDER BY number").compactMap { number in
            entries[number].entry.row.map { row in
                var row = row
                row.isHeld = true
                return (entries[number].place, row)
            }
        }
    }

    func hold(_ row: VersionRow, restoring gone: Instant?, at place: RowPlace) throws {
        entries.append((place, .row(row)))
        // The version's own entry stays the one that is asked for.
        try mark(entries.count - 1)
    }

    func release(_ place: RowPlace) throws {
        for (number, one) in entries.enumerated() where one.place == place {
            try transaction.db.execute(sql: "DELETE FROM held WHERE number = ?", arguments: [number])
        }
    }

    func willChange(_ place: RowPlace) throws {}

    func ownRow(_ place: RowPlace) throws -> VersionRow? { own[place] }

    func rows(_ dataset: Int) throws -> [Int64: [OwnedValue]] {
        let collector = OwnedRows()
        try transaction.rows.sendRows(of: schemas[dataset], to: collector)
        return Dictionary(
            uniqueKeysWithValues: collector.rows.compactMap { row in if case .integer(let key) = row[0] { (key, row) } else { nil } })
    }
}

private final class OwnedRows: EntitySink {
    var rows: [[OwnedValue]] = []

    func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { rows.append(values.map(OwnedValue.init)) }
}
