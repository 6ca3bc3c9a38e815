/// One column of one entity, lent for the length of a call.
///
/// The bytes of `text`, `json` and `blob` belong to whoever made the value (SQLite's row, a block's buffer) and are
/// gone when the call returns.
package enum ColumnValue {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8, checked by the giver only where its documentation says so.
    case text(UnsafeRawBufferPointer)
    /// JSON text.
    case json(UnsafeRawBufferPointer)
    /// Bytes as they are, not base64.
    case blob(UnsafeRawBufferPointer)
}

/// Takes entities one by one, in the order in which they come.
///
/// The one bridge between LocalStore and SnapshotFormat, which do not see each other: the reader of rows gives to the
/// encoder of JSON, the parser of JSON gives to the writer of rows.
package protocol EntitySink: AnyObject {
    /// Takes one entity: a value for each column of the dataset's schema, in its order.
    ///
    /// A boolean is lent as `.integer(0)` or `.integer(1)`. The values are lent for the length of the call.
    func take(_ values: UnsafeBufferPointer<ColumnValue>) throws
}

extension ColumnValue {
    /// Whether it is NULL.
    package var isNull: Bool { if case .null = self { true } else { false } }
}
