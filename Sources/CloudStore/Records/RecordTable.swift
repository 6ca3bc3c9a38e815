/// The live records of a zone, by name.
///
/// They are in an array, so that a query looks at each without copying it.
package struct RecordTable: Sendable {
    /// All records, in no particular order.
    package private(set) var values: [CloudRecord] = []
    private var positions: [String: Int] = [:]

    package init() {}

    /// Makes the table of these records. Of two with one name the last one stays.
    package init(_ records: [CloudRecord]) {
        values.reserveCapacity(records.count)
        positions.reserveCapacity(records.count)
        for record in records { self[record.name] = record }
    }

    /// The record with that name; set it to nil to remove the record.
    package subscript(name: String) -> CloudRecord? {
        get { positions[name].map { values[$0] } }
        set {
            switch (positions[name], newValue) {
            case (let position?, let record?): values[position] = record
            case (nil, let record?):
                positions[name] = values.count
                values.append(record)
            case (let position?, nil):
                positions[name] = nil
                let last = values.removeLast()
                guard position < values.count else { return }
                values[position] = last
                positions[last.name] = position
            case (nil, nil): break
            }
        }
    }

    /// Adds a record, or puts it in the place of the one with its name, whose creation it gets.
    package mutating func save(_ record: CloudRecord) {
        if let position = positions[record.name] {
            values[position] = record.following(values[position])
        } else {
            positions[record.name] = values.count
            values.append(record.following(nil))
        }
    }

    /// All records, sorted by the bytes of their names.
    package var sorted: [CloudRecord] {
        // Names are ASCII, and the order of such strings is that of their bytes. Positions are moved instead of records, which are large.
        values.indices.sorted { values[$0].name < values[$1].name }.map { values[$0] }
    }
}
