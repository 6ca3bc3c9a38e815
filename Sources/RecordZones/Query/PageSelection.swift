import CloudStore

/// Selects the first positions of a query's order, up to a limit, without sorting all of them.
///
///     var page = PageSelection(query, limit: 50)
///     for record in records { page.add(record) }
///     page.positions, page.isWhole
struct PageSelection {
    private let query: RecordQuery
    private let limit: Int
    private var kept: [RecordQuery.Position] = []
    private var isSorted = true
    private var count = 0

    /// Up to this limit, inserting into a sorted list is cheaper than sorting everything. Above it, all positions are kept and sorted once.
    private static let insertionLimit = 500

    init(_ query: RecordQuery, limit: Int?) {
        self.query = query
        self.limit = limit ?? .max
    }

    /// Whether the page holds every position that was taken.
    var isWhole: Bool { count <= limit }

    /// The positions of the page, in order.
    var positions: [RecordQuery.Position] {
        Array((isSorted ? kept : kept.sorted(by: query.precedes)).prefix(limit))
    }

    /// Takes one record's position.
    mutating func add(_ record: CloudRecord) {
        // Most records of a long list come after the page's last, which a position of their own need not say.
        if isSorted, kept.count == limit, let last = kept.last, !query.precedes(record, last) {
            count += 1
        } else {
            add(query.position(of: record))
        }
    }

    /// Takes one position. Positions may come in any order.
    mutating func add(_ position: RecordQuery.Position) {
        count += 1
        guard limit <= Self.insertionLimit else {
            kept.append(position)
            isSorted = false
            return
        }
        if kept.count == limit, let last = kept.last, !query.precedes(position, last) { return }
        var low = 0, high = kept.count
        while low < high {
            let middle = (low + high) / 2
            if query.precedes(kept[middle], position) { low = middle + 1 } else { high = middle }
        }
        kept.insert(position, at: low)
        if kept.count > limit { kept.removeLast() }
    }
}

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
