import CloudStore
import Foundation
import StrictText

extension ComparisonResult {
    init<T: Comparable>(_ left: T, _ right: T) { self = left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending }

    init(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) {
        self = left.lexicographicallyPrecedes(right) ? .orderedAscending : left.elementsEqual(right) ? .orderedSame : .orderedDescending
    }
}

extension CloudValue {
    /// Whether both are the same value: numbers by value, strings by their bytes, lists item by item.
    func isSame(as other: CloudValue) -> Bool {
        if let order = order(other) { return order == .orderedSame }
        switch (self, other) {
        case (.list(let left), .list(let right)): return left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.reference(let left), .reference(let right)): return left.record == right.record
        case (.asset, .asset): return self == other
        default: return false
        }
    }

    /// Compares two values; nil if they have no order: values of different types, lists, references and assets.
    func order(_ other: CloudValue) -> ComparisonResult? {
        switch (self, other) {
        case (.string(let left), .string(let right)): ComparisonResult(left.utf8, right.utf8)
        case (.integer(let left), .integer(let right)): ComparisonResult(left, right)
        case (.double(let left), .double(let right)): left.isNaN || right.isNaN ? nil : ComparisonResult(left, right)
        case (.integer(let left), .double(let right)): CloudValue.order(left, right)
        case (.double(let left), .integer(let right)): CloudValue.order(right, left).flatMap { ComparisonResult(rawValue: -$0.rawValue) }
        case (.boolean(let left), .boolean(let right)): ComparisonResult(left ? 1 : 0, right ? 1 : 0)
        case (.date(let left), .date(let right)): ComparisonResult(left, right)
        case (.bytes(let left), .bytes(let right)): ComparisonResult(left, right)
        default: nil
        }
    }

    /// Compares any two values for sorting: values of different types by type, integers and doubles as one type.
    func sortOrder(_ other: CloudValue) -> ComparisonResult {
        if let order = order(other) { return order }
        switch (self, other) {
        case (.reference(let left), .reference(let right)): return ComparisonResult(left.record.utf8, right.record.utf8)
        case (.list(let left), .list(let right)):
            for (one, two) in zip(left, right) {
                let order = one.sortOrder(two)
                if order != .orderedSame { return order }
            }
            return ComparisonResult(left.count, right.count)
        case (.asset(let left), .asset(let right)): return ComparisonResult(left.path.utf8, right.path.utf8)
        default: return ComparisonResult(rank, other.rank)
        }
    }

    /// Compares exactly, where converting the integer to a Double would round. nil for a double that is not a number.
    private static func order(_ integer: Int64, _ double: Double) -> ComparisonResult? {
        guard !double.isNaN else { return nil }
        if double >= 0x1p63 { return .orderedAscending }
        if double < -0x1p63 { return .orderedDescending }
        let floor = Int64(double.rounded(.down))
        if integer != floor { return ComparisonResult(integer, floor) }
        return double == double.rounded(.down) ? .orderedSame : .orderedAscending
    }

    private var rank: Int {
        switch self {
        case .boolean: 0
        case .integer, .double: 1
        case .date: 2
        case .string: 3
        case .bytes: 4
        case .reference: 5
        case .asset: 6
        case .list: 7
        }
    }
}
