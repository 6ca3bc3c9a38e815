import Platform
internal import SnapshotModel

/// The key of the last entity, in memory of its own, so that no array is allocated for each entity.
final class LastKey {
    private enum Kind { case none, text, integer, encoded }

    private struct State {
        var kind = Kind.none
        var length = 0
        var integer: Int64 = 0
    }

    // Behind pointers, because each access to a class's property has a runtime check.
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
    private let text = UnsafeMutableRawPointer.allocate(byteCount: FormatLimits.keyBytes, alignment: 8)

    init() { state.initialize(to: State()) }

    deinit {
        state.deallocate()
        text.deallocate()
    }

    /// The key, or nil if there is none.
    var key: EntityKey? { lent?.owned }

    private var lent: LentKey? {
        let bytes = UnsafeRawBufferPointer(start: text, count: state.pointee.length)
        return switch state.pointee.kind {
        case .none: nil
        case .text: .text(bytes)
        case .integer: .integer(state.pointee.integer)
        case .encoded: .encoded(bytes)
        }
    }

    /// Whether there is no key, or one strictly before this one.
    @inline(__always)
    func isBefore(_ next: LentKey) -> Bool {
        switch (state.pointee.kind, next) {
        case (.none, _): true
        case (.text, .text(let next)), (.encoded, .encoded(let next)):
            KeyOrder.isAscending(UnsafeRawBufferPointer(start: text, count: state.pointee.length), next)
        case (.integer, .integer(let next)): state.pointee.integer < next
        // Values of different types, in one column.
        default: lent.map { $0.owned < next.owned } ?? true
        }
    }

    /// Stores a key. The caller has checked that it has at most FormatLimits.keyBytes bytes.
    @inline(__always)
    func remember(_ key: LentKey) {
        switch key {
        case .text(let bytes): remember(bytes, .text)
        case .encoded(let bytes): remember(bytes, .encoded)
        case .integer(let value):
            state.pointee.integer = value
            state.pointee.kind = .integer
        }
    }

    @inline(__always)
    private func remember(_ bytes: UnsafeRawBufferPointer, _ kind: Kind) {
        // SAFETY: `text` has room for FormatLimits.keyBytes bytes, and the key is not longer.
        if let source = bytes.baseAddress { text.copyMemory(from: source, byteCount: bytes.count) }
        state.pointee.length = bytes.count
        state.pointee.kind = kind
    }

    func forget() { state.pointee.kind = .none }
}

/// The order of text keys: by their UTF-8 bytes; a prefix comes before the longer key.
enum KeyOrder {
    /// Whether the first key comes strictly before the second.
    @inline(__always)
    static func isAscending(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) -> Bool {
        guard let left = first.baseAddress, first.count > 0 else { return second.count > 0 }
        guard let right = second.baseAddress else { return false }
        let order = System.compare(left, right, byteCount: min(first.count, second.count))
        return order < 0 || (order == 0 && first.count < second.count)
    }
}
