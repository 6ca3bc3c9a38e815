/// Which records a query wants.
///
///     .and([.compare("done", .equal, .boolean(false)), .beginsWith("title", "A")])
///
/// A record that lacks a field meets no comparison with it, not even `notEqual`; `not` turns any answer round. Integers and doubles
/// compare by their exact values, strings byte by byte (`"é"` in one character and in two are two strings), values of two types never.
public indirect enum RecordPredicate: Hashable, Sendable {
    /// Every record of the type.
    case all
    /// The field stands in this relation to the value. Order is there for strings, numbers, dates, booleans and bytes.
    case compare(RecordKey, Comparison, CloudValue)
    /// The field is one of the values.
    case isIn(RecordKey, [CloudValue])
    /// The field is a string that begins with this one.
    case beginsWith(RecordKey, String)
    /// The field is a list that has the value.
    case contains(RecordKey, CloudValue)
    /// The field is a reference to the record of that name, whatever its action, or a list that has one.
    case refers(RecordKey, to: String)
    /// All of them hold. Of none: true.
    case and([RecordPredicate])
    /// One of them holds. Of none: false.
    case or([RecordPredicate])
    /// It does not hold.
    case not(RecordPredicate)

    /// A relation between a field and a value.
    public enum Comparison: String, Hashable, Sendable, CaseIterable {
        case equal, notEqual, lessThan, atMost, greaterThan, atLeast
    }
}

extension RecordPredicate {
    /// How deep predicates may be nested.
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

    /// The fields that it speaks of.
    var fields: Set<String> {
        switch self {
        case .all: []
        case .compare(let key, _, _), .isIn(let key, _), .beginsWith(let key, _), .contains(let key, _), .refers(let key, _):
            if case .field(let name) = key { [name] } else { [] }
        case .and(let parts), .or(let parts): parts.reduce(into: []) { $0.formUnion($1.fields) }
        case .not(let part): part.fields
        }
    }

    /// How deep it is nested, from 1; stops counting a little beyond the limit.
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
        case .lessThan: found.order(value) == .less
        case .atMost: found.order(value).map { $0 != .greater } ?? false
        case .greaterThan: found.order(value) == .greater
        case .atLeast: found.order(value).map { $0 != .less } ?? false
        }
    }
}
