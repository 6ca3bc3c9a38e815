/// A column of one entity. Valid only during the call that receives it.
///
/// The bytes of `text`, `json` and `blob` belong to the source of the value (SQLite's row, a block's buffer), which frees them after the call.
package enum ColumnValue {
    case null
    case integer(Int64)
    case real(Double)
    /// UTF-8. The source has checked it only if its documentation says so.
    case text(UnsafeRawBufferPointer)
    /// JSON text.
    case json(UnsafeRawBufferPointer)
    /// Bytes as they are, not base64.
    case blob(UnsafeRawBufferPointer)
}

/// Receives entities one by one.
///
/// It connects LocalStore and SnapshotFormat, which do not depend on each other: the reader of rows passes entities to the JSON encoder, and the
/// JSON parser passes them to the writer of rows.
package protocol EntitySink: AnyObject {
    /// Receives one entity: a value for each column of the dataset's schema, in its order.
    ///
    /// A boolean is passed as `.integer(0)` or `.integer(1)`. The values are valid only during the call.
    func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws
}

/// A sink that passes each entity to a closure.
package final class RowSink: EntitySink {
    private let body: (UnsafeBufferPointer<ColumnValue>) throws -> Void

    package init(_ body: @escaping (UnsafeBufferPointer<ColumnValue>) throws -> Void) { self.body = body }

    package func receive(_ values: UnsafeBufferPointer<ColumnValue>) throws { try body(values) }
}

extension ColumnValue {
    /// Whether the value is NULL.
    package var isNull: Bool { if case .null = self { true } else { false } }
}
