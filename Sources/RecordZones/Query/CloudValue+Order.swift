import CloudStore
import StrictText

/// The result of comparing two values.
enum ValueOrder {
    case less, equal, greater

    init<T: Comparable>(_ left: T, _ right: T) {
        self = left < right ? .less : left == right ? .equal : .greater
    }

    init(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) {
        if left.elementsEqual(right) {
            self = .equal
        } else {
            self = left.lexicographicallyPrecedes(right) ? .less : .greater
        }
    }
}

extension CloudValue {
    /// Whether both are the same value: numbers by value, strings by their bytes, lists item by item.
    func isSame(as other: CloudValue) -> Bool {
        if let order = order(other) { return order == .equal }
        switch (self, other) {
        case (.list(let left), .list(let right)): return left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
        case (.reference(let left), .reference(let right)): return left.record == right.record
        case (.asset, .asset): return self == other
        default: return false
        }
    }

    /// Compares two values; nil if they have no order: values of different types, lists, references and assets.
    func order(_ other: CloudValue) -> ValueOrder? {
        switch (self, other) {
        case (.string(let left), .string(let right)): ValueOrder(left.utf8, right.utf8)
        case (.integer(let left), .integer(let right)): ValueOrder(left, right)
        case (.double(let left), .double(let right)): left.isNaN || right.isNaN ? nil : ValueOrder(left, right)
        case (.integer(let left), .double(let right)): CloudValue.order(left, right)
        case (.double(let left), .integer(let right)): CloudValue.order(right, left)?.reversed
        case (.boolean(let left), .boolean(let right)): ValueOrder(left ? 1 : 0, right ? 1 : 0)
        case (.date(let left), .date(let right)): ValueOrder(left, right)
        case (.bytes(let left), .bytes(let right)): ValueOrder(left, right)
        default: nil
        }
    }

    /// Compares any two values for sorting: values of different types by type, integers and doubles as one type.
    func sortOrder(_ other: CloudValue) -> ValueOrder {
        if let order = order(other) { return order }
        switch (self, other) {
        case (.reference(let left), .reference(let right)): return ValueOrder(left.record.utf8, right.record.utf8)
        case (.list(let left), .list(let right)):
            for (one, two) in zip(left, right) {
                let order = one.sortOrder(two)
                if order != .equal { return order }
            }
            return ValueOrder(left.count, right.count)
        case (.asset(let left), .asset(let right)): return ValueOrder(left.path.utf8, right.path.utf8)
        default: return ValueOrder(rank, other.rank)
        }
    }

    /// Compares exactly, where converting the integer to a Double would round. nil for a double that is not a number.
    private static func order(_ integer: Int64, _ double: Double) -> ValueOrder? {
        guard !double.isNaN else { return nil }
        if double >= 0x1p63 { return .less }
        if double < -0x1p63 { return .greater }
        let floor = Int64(double.rounded(.down))
        if integer != floor { return ValueOrder(integer, floor) }
        return double == double.rounded(.down) ? .equal : .less
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

extension ValueOrder {
    /// The opposite order.
    var reversed: ValueOrder {
        switch self {
        case .less: .greater
        case .equal: .equal
        case .greater: .less
        }
    }
}
