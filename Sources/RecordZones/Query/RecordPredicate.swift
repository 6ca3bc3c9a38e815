public import CloudStore
import Foundation

/// The condition that a record must meet to be returned by a query.
///
///     .and([.compare("done", .equal, .boolean(false)), .beginsWith("title", "A")])
///
/// A record without a field meets no comparison with that field, not even `notEqual`; `not` inverts any result. Integers and doubles compare
/// by their exact values, strings byte by byte (`"é"` as one character and as two are different strings). Values of different types never
/// compare.
public indirect enum RecordPredicate: Hashable, Sendable {
    /// Every record of the type.
    case all
    /// The field has this relation to the value. Strings, numbers, dates, booleans and bytes have an order.
    case compare(RecordKey, Comparison, CloudValue)
    /// The field is one of the values.
    case isIn(RecordKey, [CloudValue])
    /// The field is a string that begins with this one.
    case beginsWith(RecordKey, String)
    /// The field is a list that contains the value.
    case contains(RecordKey, CloudValue)
    /// The field is a reference to the record of that name, with any action, or a list that contains such a reference.
    case refers(RecordKey, to: String)
    /// All of the conditions hold. True if there are none.
    case and([RecordPredicate])
    /// At least one of the conditions holds. False if there are none.
    case or([RecordPredicate])
    /// The condition does not hold.
    case not(RecordPredicate)

    /// A relation between a field and a value.
    public enum Comparison: String, Hashable, Sendable, CaseIterable {
        case equal, notEqual, lessThan, atMost, greaterThan, atLeast
    }
}

extension RecordPredicate {
    /// The deepest nesting of predicates that is allowed.
    static let depthLimit = 32

    /// Whether the record meets the predicate.
    public func matches(_ record: CloudRecord) -> Bool {
        switch self {
        case .all: true
        case .compare(let key, let comparison, let value): key.value(in: record).map { comparison.holds($0, value) } ?? false
        case .isIn(let key, let values): key.value(in: record).map { found in values.contains { found.isSame(as: $0) } } ?? false
        case .beginsWith(let key, let prefix):
            if case .string(let text) = key.value(in: record) { text.utf8.starts(with: prefix.utf8) } else { false }
        case .contains(let key, let value):
            if case .list(let values) = key.value(in: record) { values.contains { $0.isSame(as: value) } } else { false }
        case .refers(let key, let name): key.value(in: record)?.references.contains { $0.record == name } ?? false
        case .and(let parts): parts.allSatisfy { $0.matches(record) }
        case .or(let parts): parts.contains { $0.matches(record) }
        case .not(let part): !part.matches(record)
        }
    }

    /// The fields that the predicate names.
    var fields: Set<String> {
        switch self {
        case .all: []
        case .compare(let key, _, _), .isIn(let key, _), .beginsWith(let key, _), .contains(let key, _), .refers(let key, _):
            if case .field(let name) = key { [name] } else { [] }
        case .and(let parts), .or(let parts): parts.reduce(into: []) { $0.formUnion($1.fields) }
        case .not(let part): part.fields
        }
    }

    /// The nesting depth, from 1. Counting stops just above the limit.
    func depth(_ above: Int = 0) -> Int {
        guard above <= RecordPredicate.depthLimit else { return above }
        switch self {
        case .and(let parts), .or(let parts): return parts.map { $0.depth(above + 1) }.max() ?? above + 1
        case .not(let part): return part.depth(above + 1)
        default: return above + 1
        }
    }
}

extension RecordPredicate.Comparison {
    fileprivate func holds(_ found: CloudValue, _ value: CloudValue) -> Bool {
        switch self {
        case .equal: found.isSame(as: value)
        case .notEqual: !found.isSame(as: value)
        case .lessThan: found.order(value) == .orderedAscending
        case .atMost: found.order(value).map { $0 != .orderedDescending } ?? false
        case .greaterThan: found.order(value) == .orderedDescending
        case .atLeast: found.order(value).map { $0 != .orderedAscending } ?? false
        }
    }
}
