internal import SnapshotModel

/// One column of one entity of an ``EntityBlock``: a number, or the position of its bytes.
///
/// Layout: 12 bytes. 64 bits hold a number, or an offset and a length of 32 bits each; then come column and form.
struct EntitySlot {
    enum Form: UInt8 {
        case integer, real
        case rawText, scratchText
        case json
        case blob
        /// The column of a partial entity became NULL.
        case null
    }

    private var low: UInt32
    private var high: UInt32
    let column: UInt16
    let form: Form
    let beginsEntity: Bool

    @inline(__always)
    init(_ form: Form, column: Int, beginsEntity: Bool, bits: UInt64) {
        low = UInt32(truncatingIfNeeded: bits)
        high = UInt32(truncatingIfNeeded: bits >> 32)
        self.column = UInt16(truncatingIfNeeded: column)
        self.form = form
        self.beginsEntity = beginsEntity
    }

    /// A slot for bytes. A buffer of a block is always smaller than 4 GiB, so 32 bits hold an offset.
    @inline(__always)
    init(_ form: Form, column: Int, beginsEntity: Bool, offset: Int, count: Int) {
        low = UInt32(truncatingIfNeeded: offset)
        high = UInt32(truncatingIfNeeded: count)
        self.column = UInt16(truncatingIfNeeded: column)
        self.form = form
        self.beginsEntity = beginsEntity
    }

    @inline(__always)
    var integer: Int64 { Int64(bitPattern: UInt64(high) << 32 | UInt64(low)) }

    @inline(__always)
    func bytes(raw: UnsafeRawPointer, scratch: UnsafeRawPointer) -> UnsafeRawBufferPointer {
        let base = form == .scratchText || form == .blob ? scratch : raw
        return UnsafeRawBufferPointer(start: base + Int(low), count: Int(high))
    }

    /// The value, valid while the block's buffers do not change.
    @inline(__always)
    func value(raw: UnsafeRawPointer, scratch: UnsafeRawPointer) -> ColumnValue {
        switch form {
        case .integer: .integer(integer)
        case .real: .real(Double(bitPattern: UInt64(high) << 32 | UInt64(low)))
        case .rawText, .scratchText: .text(bytes(raw: raw, scratch: scratch))
        case .json: .json(bytes(raw: raw, scratch: scratch))
        case .blob: .blob(bytes(raw: raw, scratch: scratch))
        case .null: .null
        }
    }
}
