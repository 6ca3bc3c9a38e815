import SnapshotModel

/// Edits of one device in memory.
package struct EditList: EditSource {
    private var edits: [(place: RowPlace, edit: Edit)] = []
    private var places: Set<RowPlace> = []
    /// What loses because the device itself has another row under the key by now.
    package private(set) var dropped: [(place: RowPlace, lost: LostValue)] = []

    /// Makes one edit of all edits of a row.
    ///
    /// - Parameter all: the edits in the order in which they were made.
    package init(_ all: [(place: RowPlace, edit: Edit)]) {
        struct Row: Hashable {
            let place: RowPlace
            let edit: Edit

            static func == (one: Row, other: Row) -> Bool { one.place == other.place && one.edit.born == other.edit.born }
            func hash(into hasher: inout Hasher) { hasher.combine(place) }
        }
        var order: [Row: Int] = [:], joined: [Row: Edit] = [:]
        for (number, one) in all.enumerated() {
            let row = Row(place: one.place, edit: one.edit)
            joined[row] = joined[row]?.followed(by: one.edit) ?? one.edit
            order[row] = number
        }
        var last: [RowPlace: (number: Int, edit: Edit)] = [:]
        for (row, number) in order.sorted(by: { $0.value < $1.value }) {
            guard let edit = joined[row] else { continue }
            if let first = last[row.place]?.edit, case .columns(let columns, let values) = first.change {
                dropped += columns.keys.map { (row.place, LostValue($0, values[$0])) }
            }
            last[row.place] = (number, edit)
        }
        edits = last.sorted { $0.value.number < $1.value.number }.map { ($0.key, $0.value.edit) }
        places = Set(last.keys)
    }

    package func forEach(_ body: (RowPlace, Edit) throws -> Void) throws { for one in edits { try body(one.place, one.edit) } }
    package func edit(of place: RowPlace) -> Edit? { edits.first { $0.place == place }?.edit }
    package func contains(_ place: RowPlace) throws -> Bool { places.contains(place) }
}
