internal import SnapshotModel
import StrictText
internal import StrictText

/// Encodes entities as canonical JSON.
///
/// Of columns with a shape it checks what it encodes: required values, storage classes, UTF-8, JSON, finite reals. Source: docs/format.md,
/// "Entities".
final class EntityEncoder {
    let plan: SchemaPlan

    init(_ plan: SchemaPlan) { self.plan = plan }

    /// Appends one entity to the buffer. After an error the buffer ends with a part of the entity.
    func encode(_ values: UnsafeBufferPointer<ColumnValue>, into buffer: ByteBuffer) throws {
        var cursor = ByteCursor(buffer)
        defer { cursor.finish() }
        let start = cursor.at - buffer.base
        let columns = plan.columns
        for index in 0..<plan.count {
            let column = columns[index]
            switch (values[index], column.shape) {
            case (.null, _):
                guard column.isOptional else { throw nullFault(values, index) }
            case (let value, nil):
                label(column, &cursor)
                guard append(value, &cursor) || !column.isKey else {
                    throw fault(in: values, at: index, "the key is text that is not UTF-8", hint: "correct the row's key")
                }
            case (.text(let text), .text):
                label(column, &cursor)
                if cursor.appendString(text), UTF8Check.firstFault(in: text) != nil {
                    throw fault(in: values, at: index, "the text is not UTF-8", hint: "correct the text in the database")
                }
            case (.text(let text), .json), (.json(let text), .json):
                if let reason = Self.jsonFault(text) {
                    throw fault(in: values, at: index, "it is not one JSON value: \(reason)", hint: "correct the text in the database")
                }
                label(column, &cursor)
                cursor.append(text)
            case (.integer(let value), .integer), (.integer(let value), .real):
                label(column, &cursor)
                cursor.append(decimal: value)
            case (.integer(let value), .boolean):
                guard value == 0 || value == 1 else { throw fault(in: values, at: index, "a boolean must be 0 or 1", hint: Self.shapeHint) }
                label(column, &cursor)
                cursor.append(value == 1 ? "true" : "false")
            case (.real(let value), .real):
                guard value.isFinite else { throw fault(in: values, at: index, "an infinite number has no JSON text", hint: Self.shapeHint) }
                label(column, &cursor)
                cursor.append(real: value)
            case (.blob(let bytes), .blob):
                label(column, &cursor)
                cursor.appendBase64(bytes)
            case (let value, let shape?):
                throw fault(
                    in: values, at: index, "it holds \(Self.storageClass(value)), and the column is of type \(shape.rawValue)", hint: Self.shapeHint)
            }
        }
        cursor.append(UInt8(ascii: "}"))
        // Every label was written after a comma. The first comma is replaced by the entity's brace.
        (buffer.base + start).pointee = UInt8(ascii: "{")
        guard cursor.at - buffer.base - start <= FormatLimits.entityBytes else {
            throw SyncError(
                format: .tooLarge, at: place(values, nil), "the entity is larger than \(FormatLimits.entityBytes >> 20) MiB of JSON",
                hint: "keep large contents outside the dataset and refer to them")
        }
    }

    @inline(__always)
    private func label(_ column: SchemaPlan.Column, _ cursor: inout ByteCursor) {
        cursor.append(UInt8(ascii: ","))
        cursor.append(words: column.label, length: column.labelLength)
    }

    /// Appends a value in the form that shows its storage class. Returns false for a text that is not UTF-8.
    @inline(__always)
    private func append(_ value: ColumnValue, _ cursor: inout ByteCursor) -> Bool {
        switch value {
        case .null: break
        case .integer(let integer): cursor.append(decimal: integer)
        case .real(let real) where real.isFinite: cursor.append(real: real)
        case .real(let real): cursor.append(real < 0 ? ValueForm.minusInfinity : ValueForm.infinity)
        case .text(let text), .json(let text):
            let start = cursor.position
            if cursor.appendString(text), UTF8Check.firstFault(in: text) != nil {
                cursor.cut(to: start)
                cursor.append(ValueForm.text)
                cursor.appendBase64(text)
                cursor.append(UInt8(ascii: "}"))
                return false
            }
        case .blob(let bytes):
            cursor.append(ValueForm.blob)
            cursor.appendBase64(bytes)
            cursor.append(UInt8(ascii: "}"))
        }
        return true
    }

    /// Returns why the bytes are not one JSON value with optional white space around it, or nil.
    @inline(__always)
    static func jsonFault(_ text: UnsafeRawBufferPointer) -> String? {
        // Fast path: most JSON columns of most rows are empty lists.
        if text.count == 2, text[0] == UInt8(ascii: "["), text[1] == UInt8(ascii: "]") { return nil }
        return fullJSONFault(text)
    }

    private static func fullJSONFault(_ text: UnsafeRawBufferPointer) -> String? {
        if UTF8Check.firstFault(in: text) != nil { return "not UTF-8" }
        let scanner = JSONScanner(text)
        do throws(JSONFault) {
            let end = scanner.skipSpace(try scanner.skipValue(scanner.skipSpace(0)))
            return end == text.count ? nil : "text after the end at byte \(end)"
        } catch {
            return error.description
        }
    }

    private static let shapeHint = "correct the row; or, with a dataset file, leave the column's type out there, which carries every value"

    func nullFault(_ values: UnsafeBufferPointer<ColumnValue>, _ index: Int) -> SyncError {
        plan.columns[index].isKey
            ? fault(
                in: values, at: index, plan.keyShape.isSingle ? "the key is NULL" : "a column of the key is NULL",
                hint: "SQLite allows NULL in a primary key; delete the row or give it a key")
            : fault(in: values, at: index, "it is NULL, and the column is required", hint: "fill the column, or mark it as optional in the dataset file")
    }

    private static func storageClass(_ value: ColumnValue) -> String {
        switch value {
        case .null: "NULL"
        case .integer: "an integer"
        case .real: "a real number"
        case .text: "text"
        case .json: "JSON text"
        case .blob: "a blob"
        }
    }

    @inline(never)
    private func fault(
        in values: UnsafeBufferPointer<ColumnValue>, at index: Int, _ reason: String, hint: String? = nil
    ) -> SyncError {
        SyncError(format: .badRow, at: place(values, index), reason, hint: hint)
    }

    /// Calls `body` with the key of an entity.
    ///
    /// - Parameter bytes: memory for a key that is not a value of the entity.
    /// - Throws: ``SyncError`` with `.badRow` if a column of the key is NULL or an infinite number, or if the key is too long; what `body` throws.
    @inline(__always)
    func withKey<T>(_ values: UnsafeBufferPointer<ColumnValue>, using bytes: inout [UInt8], _ body: (LentKey) throws -> T) throws -> T {
        if plan.hasPlainKey {
            switch values[plan.keyIndex] {
            case .text(let key) where key.count <= FormatLimits.keyBytes: return try body(.text(key))
            case .integer(let key): return try body(.integer(key))
            default: break
            }
        }
        return try withOtherKey(values, using: &bytes, body)
    }

    @inline(never)
    private func withOtherKey<T>(_ values: UnsafeBufferPointer<ColumnValue>, using bytes: inout [UInt8], _ body: (LentKey) throws -> T) throws -> T {
        let result = try plan.keyShape.lendKey(of: values, using: &bytes) { key in
            guard key.byteCount <= FormatLimits.keyBytes else {
                throw fault(
                    in: values, at: plan.keyIndex, "the key is longer than \(FormatLimits.keyBytes) bytes", hint: "use a shorter key, its hash for example")
            }
            return try body(key)
        }
        if let result { return result }
        let index = plan.keyShape.unusableColumn(of: values) ?? plan.keyIndex
        if values[index].isNull { throw nullFault(values, index) }
        throw fault(in: values, at: index, "an infinite number cannot be a key", hint: "correct the row's key")
    }

    /// `notifications, key "n-17", column body`.
    func place(_ values: UnsafeBufferPointer<ColumnValue>, _ index: Int?) -> String {
        var bytes: [UInt8] = []
        let key =
            plan.keyShape.lendKey(of: values, using: &bytes) { key in
                let shown = if case .text(let bytes) = key { EntityKey.text(Array(bytes.prefix(64))).description } else { key.owned.description }
                let isLong = if case .text(let bytes) = key { bytes.count > 64 } else { shown.count > 128 }
                return "key \(shown.prefix(128))\(isLong ? "…" : "")"
            } ?? "a row without a usable key"
        return "\(plan.schema.name), \(key)" + (index.map { ", column \(plan.name($0))" } ?? "")
    }
}
