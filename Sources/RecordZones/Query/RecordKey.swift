import CloudStore

/// A key that a query compares or sorts by: a field, or a property that every record has.
///
///     RecordPredicate.compare("calories", .greaterThan, .integer(100))
///     RecordSort(.modificationDate, ascending: false)
public enum RecordKey: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The field of that name.
    case field(String)
    /// The record's name.
    case name
    /// When the record was first saved.
    case creationDate
    /// When the record was last saved.
    case modificationDate
    /// The device that first saved the record.
    case creator
    /// The device that last saved the record.
    case lastModifier

    /// The field of that name.
    public init(stringLiteral field: String) {
        self = .field(field)
    }
}

extension RecordKey {
    /// The record's value for this key; nil if it has none.
    func value(in record: CloudRecord) -> CloudValue? {
        switch self {
        case .field(let name): record.fields[name]
        case .name: .string(record.name)
        case .creationDate: record.creation.map { .date($0.at) }
        case .modificationDate: record.modification.map { .date($0.at) }
        case .creator: record.creation.map { .string($0.device) }
        case .lastModifier: record.modification.map { .string($0.device) }
        }
    }
}
