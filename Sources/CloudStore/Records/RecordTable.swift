/// The live records of a zone, by name.
///
/// They are in an array, so that a query looks at each without copying it.
struct RecordTable: Sendable {
    /// All records, in no particular order.
    private(set) var values: [CloudRecord] = []
    private var positions: [String: Int] = [:]

    init() {}

    /// Makes the table of these records, whose names are all different.
    init(_ records: [CloudRecord]) {
        values = records
        positions.reserveCapacity(records.count)
        for (position, record) in records.enumerated() { positions[record.name] = position }
    }

    /// The record with that name; set it to nil to remove the record.
    subscript(name: String) -> CloudRecord? {
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
}
