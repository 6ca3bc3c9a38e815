internal import SnapshotModel
internal import StrictText

/// Encodes entities as canonical JSON.
///
/// It checks what it encodes: required columns, storage classes, UTF-8, JSON columns, finite reals. Source: docs/format.md, "Entities".
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
            switch (values[index], column.kind) {
            case (.null, _):
                guard column.isOptional else { throw fault(values, index, "it is NULL, and the column is required", Self.nullHint) }
            case (.text(let text), .text):
                label(column, &cursor)
                if cursor.appendString(text), UTF8Check.firstFault(in: text) != nil {
                    throw misfit(values, index, "the text is not UTF-8", "correct the text in the database")
                }
            case (.text(let text), .json), (.json(let text), .json):
                if let reason = Self.jsonFault(text) {
                    throw misfit(values, index, "it is not one JSON value: \(reason)", "correct the text in the database")
                }
                label(column, &cursor)
                cursor.append(text)
            case (.integer(let value), .integer), (.integer(let value), .real):
                label(column, &cursor)
                cursor.append(decimal: value)
            case (.integer(let value), .boolean):
                guard value == 0 || value == 1 else {
                    throw misfit(values, index, "a boolean must be 0 or 1", "correct the row, or make the column an integer in the dataset file")
                }
                label(column, &cursor)
                cursor.append(value == 1 ? "true" : "false")
            case (.real(let value), .real):
                guard value.isFinite else {
                    throw misfit(values, index, "an infinite number has no JSON text", "correct the row: NULL where there is no number")
                }
                label(column, &cursor)
                cursor.append(real: value)
            case (.blob(let bytes), .blob):
                label(column, &cursor)
                cursor.appendBase64(bytes)
            case (let value, .any):
                label(column, &cursor)
                append(value, &cursor)
            case (let value, let kind):
                throw misfit(
                    values, index, "it holds \(Self.storageClass(value)), and the column is of type \(kind.rawValue)",
                    "correct the row, or the column's type in the dataset file")
            }
        }
        cursor.append(UInt8(ascii: "}"))
        // Every label was written after a comma. The first comma is replaced by the entity's brace.
        (buffer.base + start).pointee = UInt8(ascii: "{")
        guard cursor.at - buffer.base - start <= FormatLimits.entityBytes else {
            throw FormatError(
                .tooLarge, at: place(values, nil), "the entity is larger than \(FormatLimits.entityBytes >> 20) MiB of JSON",
                hint: "keep large contents outside the dataset and refer to them")
        }
    }

    @inline(__always)
    private func label(_ column: SchemaPlan.Column, _ cursor: inout ByteCursor) {
        cursor.append(UInt8(ascii: ","))
        cursor.append(words: column.label, length: column.labelLength)
    }

    /// Appends a value of an `any` column in the form that shows its storage class.
    private func append(_ value: ColumnValue, _ cursor: inout ByteCursor) {
        switch value {
        case .null: break
        case .integer(let integer): cursor.append(decimal: integer)
        case .real(let real) where real.isFinite: cursor.append(real: real)
        case .real(let real): cursor.append(real < 0 ? AnyForm.minusInfinity : AnyForm.infinity)
        case .text(let text), .json(let text):
            let start = cursor.position
            if cursor.appendString(text), UTF8Check.firstFault(in: text) != nil {
                cursor.cut(to: start)
                cursor.append(AnyForm.text)
                cursor.appendBase64(text)
                cursor.append(UInt8(ascii: "}"))
            }
        case .blob(let bytes):
            cursor.append(AnyForm.blob)
            cursor.appendBase64(bytes)
            cursor.append(UInt8(ascii: "}"))
        }
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

    private static let nullHint = "fill the column, or mark it as optional in the dataset file"

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
        _ values: UnsafeBufferPointer<ColumnValue>, _ index: Int, _ reason: String, _ hint: String? = nil
    ) -> FormatError {
        FormatError(.badRow, at: place(values, index), reason, hint: hint)
    }

    /// The error for a value that the column's type cannot hold. It suggests the type `any`, unless the column belongs to the key or is the
    /// timestamp.
    @inline(never)
    private func misfit(_ values: UnsafeBufferPointer<ColumnValue>, _ index: Int, _ reason: String, _ hint: String) -> FormatError {
        var error = fault(values, index, reason, hint)
        let schema = plan.schema
        if !schema.keyIndices.contains(index), schema.timestampIndex != index { error.misfit = index }
        return error
    }

    /// Sets `key` to the encoded key of an entity.
    ///
    /// - Throws: ``FormatError`` with `.badRow` if a column of the key is NULL or of another type, or if the key is too long.
    func encodeKey(_ values: UnsafeBufferPointer<ColumnValue>, into key: inout [UInt8]) throws {
        key.removeAll(keepingCapacity: true)
        if let index = plan.keyShape.misfit(of: values, encodingInto: &key) {
            if values[index].isNull {
                throw fault(values, index, "a column of the key is NULL", "SQLite allows NULL in a primary key; delete the row or give it a key")
            }
            if case .real(let real) = values[index], !real.isFinite {
                throw fault(values, index, "an infinite number cannot be a key", "correct the row's key")
            }
            throw fault(
                values, index, "it holds \(Self.storageClass(values[index])), and the column of the key is of type \(plan.schema.columns[index].kind.rawValue)",
                "correct the row's key, or the column's type in the dataset file")
        }
        guard key.count <= FormatLimits.keyBytes else {
            throw fault(values, plan.keyIndex, "the key is longer than \(FormatLimits.keyBytes) bytes", "use a shorter key, its hash for example")
        }
    }

    /// The bytes of an entity's text key.
    ///
    /// - Throws: ``FormatError`` with `.badRow` if the key is NULL, of another type or too long.
    @inline(__always)
    func textKey(_ values: UnsafeBufferPointer<ColumnValue>) throws -> UnsafeRawBufferPointer {
        guard case .text(let key) = values[plan.keyIndex], plan.hasTextKey, key.count <= FormatLimits.keyBytes else { throw keyFault(values) }
        return key
    }

    @inline(never)
    private func keyFault(_ values: UnsafeBufferPointer<ColumnValue>) -> FormatError {
        let index = plan.keyIndex
        return switch values[index] {
        case .null: fault(values, index, "the key is NULL", "SQLite allows NULL in a primary key; delete the row or give it a key")
        case .text where plan.hasTextKey:
            fault(values, index, "the key is longer than \(FormatLimits.keyBytes) bytes", "use a shorter key, its hash for example")
        default: fault(values, index, "the key is not of type \(plan.schema.columns[index].kind.rawValue)", "correct the row's key")
        }
    }

    /// `notifications, key "n-17", column body`.
    func place(_ values: UnsafeBufferPointer<ColumnValue>, _ index: Int?) -> String {
        let key: String
        switch values[plan.keyIndex] {
        case _ where plan.hasEncodedKey:
            let shown = plan.keyShape.key(of: values)?.description
            key = shown.map { "key \($0.count > 128 ? $0.prefix(128) + "…" : $0[...])" } ?? "a row without a usable key"
        case .text(let bytes):
            let shown = EntityKey.text(Array(bytes.prefix(64))).description
            key = bytes.count > 64 ? "key \(shown)…" : "key \(shown)"
        case .integer(let value): key = "key \(value)"
        case .null: key = "a row without key"
        case .real, .json, .blob: key = "a row with an unusable key"
        }
        return "\(plan.schema.name), \(key)" + (index.map { ", column \(plan.name($0))" } ?? "")
    }
}
