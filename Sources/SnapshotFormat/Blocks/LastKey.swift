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
    var key: EntityKey? {
        switch state.pointee.kind {
        case .none: nil
        case .text: .text(Array(UnsafeRawBufferPointer(start: text, count: state.pointee.length)))
        case .integer: .integer(state.pointee.integer)
        case .encoded: .encoded(Array(UnsafeRawBufferPointer(start: text, count: state.pointee.length)))
        }
    }

    /// Whether there is no key, or one strictly before this text or encoded key.
    @inline(__always)
    func isBefore(text next: UnsafeRawBufferPointer) -> Bool {
        state.pointee.kind == .none || KeyOrder.isAscending(UnsafeRawBufferPointer(start: text, count: state.pointee.length), next)
    }

    @inline(__always)
    func isBefore(integer next: Int64) -> Bool { state.pointee.kind == .none || state.pointee.integer < next }

    /// Stores a key. The caller has checked that it has at most FormatLimits.keyBytes bytes.
    @inline(__always)
    func remember(_ key: ColumnValue) {
        switch key {
        case .text(let bytes):
            // SAFETY: `text` has room for FormatLimits.keyBytes bytes, and the key is not longer.
            if let source = bytes.baseAddress { text.copyMemory(from: source, byteCount: bytes.count) }
            state.pointee.length = bytes.count
            state.pointee.kind = .text
        case .integer(let value):
            state.pointee.integer = value
            state.pointee.kind = .integer
        default: break
        }
    }

    /// Stores an encoded key. The caller has checked that it has at most FormatLimits.keyBytes bytes.
    func remember(encoded key: UnsafeRawBufferPointer) {
        // SAFETY: as above.
        if let source = key.baseAddress { text.copyMemory(from: source, byteCount: key.count) }
        state.pointee.length = key.count
        state.pointee.kind = .encoded
    }

    func forget() { state.pointee.kind = .none }
}
