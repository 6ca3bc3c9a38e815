public import CloudStore
import Foundation

/// A search for records of one type.
///
///     RecordQuery("Food", where: .compare("calories", .atMost, .integer(200)), sortedBy: [RecordSort("calories")])
public struct RecordQuery: Hashable, Sendable {
    /// The records' type.
    public var type: String
    /// The condition that the records must meet.
    public var predicate: RecordPredicate
    /// The sort keys. Records that are equal in all of them, and all records if there are none, are sorted by name.
    public var sort: [RecordSort]

    /// A search for all records of a type, or for those that meet a predicate.
    public init(_ type: String, where predicate: RecordPredicate = .all, sortedBy sort: [RecordSort] = []) {
        (self.type, self.predicate, self.sort) = (type, predicate, sort)
    }

    /// Whether the query selects this record.
    public func matches(_ record: CloudRecord) -> Bool {
        record.type == type && predicate.matches(record)
    }
}

/// One sort key. Records without a value come first, or last in descending order.
public struct RecordSort: Hashable, Sendable {
    /// The key to sort by.
    public var key: RecordKey
    /// Whether smaller values come first.
    public var isAscending: Bool

    /// Sorts by one key.
    public init(_ key: RecordKey, ascending: Bool = true) {
        self.key = key
        isAscending = ascending
    }
}

extension RecordQuery {
    /// A record's position in the query's order: its value for each sort key, and its name, which is unique.
    struct Position: Hashable, Sendable {
        let values: [CloudValue?]
        let name: String
    }

    func position(of record: CloudRecord) -> Position {
        Position(values: sort.map { $0.key.value(in: record) }, name: record.name)
    }

    /// Whether `left` comes before `right`.
    func precedes(_ left: Position, _ right: Position) -> Bool {
        for (index, key) in sort.enumerated() {
            let order = RecordQuery.order(left.values[index], right.values[index])
            guard order != .orderedSame else { continue }
            return (order == .orderedAscending) == key.isAscending
        }
        return left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    private static func order(_ left: CloudValue?, _ right: CloudValue?) -> ComparisonResult {
        switch (left, right) {
        case (nil, nil): .orderedSame
        case (nil, _): .orderedAscending
        case (_, nil): .orderedDescending
        case (let left?, let right?): left.sortOrder(right)
        }
    }

    /// Refuses a query that is invalid in every cloud.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`. The error quotes no name that failed the check.
    func verify() throws(CloudError) {
        guard CloudNames.isIdentifier(type) else { throw CloudError(.invalidArguments, at: "query", "the record type's name is not allowed") }
        guard predicate.depth() <= RecordPredicate.depthLimit else {
            throw CloudError(.invalidArguments, at: "query", "the predicate is nested more than \(RecordPredicate.depthLimit) deep")
        }
        guard fields.allSatisfy(CloudNames.isIdentifier) else { throw CloudError(.invalidArguments, at: "query", "a field's name is not allowed") }
    }

    /// Refuses a field that no record of the type has. If there is no record of the type, any field is accepted.
    ///
    /// - Throws: ``CloudError`` with `.invalidArguments`.
    func verify(against records: some Sequence<CloudRecord>) throws(CloudError) {
        var unknown = fields, isEmpty = true
        for record in records {
            isEmpty = false
            unknown.subtract(record.fields.keys)
            if unknown.isEmpty { return }
        }
        guard !isEmpty else { return }
        guard let field = unknown.min() else { return }
        throw CloudError(
            .invalidArguments, at: "query", "no record of type \(type) has a field \(field)", hint: "check the field's name")
    }

    private var fields: Set<String> {
        sort.reduce(into: predicate.fields) { fields, sort in
            if case .field(let name) = sort.key { fields.insert(name) }
        }
    }
}

/// The point at which a query continues after a page. It is valid only for the cloud, zone and query that it came from.
public struct QueryCursor: Hashable, Sendable {
    /// The cloud's UUID.
    let cloud: String
    let zone: ZoneID
    let query: RecordQuery
    let desiredKeys: [String]?
    /// The last record that was returned.
    let after: RecordQuery.Position
}

/// One page of a query's records.
public struct QueryPage: Sendable {
    /// The records, in the query's order.
    public let records: [CloudRecord]
    /// Continues with the next page; nil if this is the last one.
    public let cursor: QueryCursor?
}
