package import Foundation
internal import SnapshotModel

extension SnapshotIndex {
    /// The index as the JSON document beside the asset: canonical, with one column and one block per line.
    package func encode() -> Data {
        var data = Data(capacity: 4096 + blocks.count * 288)
        encode { data.append(contentsOf: $0) }
        return data
    }

    /// Whether the bytes equal those of ``encode()``.
    func isEncoded(as bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes, isEqual = true
        encode { piece in
            isEqual = isEqual && rest.starts(with: piece)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
        }
        return isEqual && rest.isEmpty
    }

    /// Passes on the document in pieces of about 64 KiB, because that of a large dataset has megabytes.
    private func encode(_ take: (UnsafeRawBufferPointer) -> Void) {
        let buffer = ByteBuffer(capacity: 1 << 17)
        var cursor = ByteCursor(buffer)
        cursor.append("{\"formatVersion\":")
        cursor.append(decimal: Int64(FormatLimits.formatVersion))
        cursor.append(",\"dataset\":")
        cursor.append(string: dataset)
        cursor.append(",\"key\":")
        if key.count == 1 {
            cursor.append(string: key[0])
        } else {
            for (number, name) in key.enumerated() {
                cursor.append(number == 0 ? "[" : ",")
                cursor.append(string: name)
            }
            cursor.append("]")
        }
        if let timestamp {
            cursor.append(",\"timestamp\":")
            cursor.append(string: timestamp)
        }
        cursor.append(",\n\"columns\":[")
        for (number, column) in columns.enumerated() {
            cursor.append(number == 0 ? "\n" : ",\n")
            cursor.append("{\"name\":")
            cursor.append(string: column.name)
            if let shape = column.shape {
                cursor.append(",\"type\":")
                cursor.append(string: shape.rawValue)
                cursor.append(column.isOptional ? ",\"optional\":true" : ",\"optional\":false")
            }
            if column.collation != .binary {
                cursor.append(",\"collation\":")
                cursor.append(string: column.collation.rawValue)
            }
            cursor.append("}")
        }
        cursor.append("\n],\n\"recordCount\":")
        cursor.append(decimal: Int64(recordCount))
        cursor.append(",\"blockEntities\":")
        cursor.append(decimal: Int64(blockEntities))
        cursor.append(",\"size\":")
        cursor.append(decimal: Int64(size))
        cursor.append(",\"rawSize\":")
        cursor.append(decimal: Int64(rawSize))
        cursor.append(",\n\"header\":{")
        cursor.append(member: header)
        cursor.append(",\n\"blocks\":[")
        for (number, block) in blocks.enumerated() {
            cursor.append(number == 0 ? "\n" : ",\n")
            cursor.append("{\"firstKey\":")
            cursor.append(key: block.firstKey)
            cursor.append(",\"count\":")
            cursor.append(decimal: Int64(block.count))
            cursor.append(UInt8(ascii: ","))
            cursor.append(member: block.member)
            cursor.finish()
            if buffer.count > 1 << 16 {
                buffer.withBytes(take)
                buffer.clear()
                cursor = ByteCursor(buffer)
            }
        }
        cursor.append(blocks.isEmpty ? "],\n\"tail\":{" : "\n],\n\"tail\":{")
        cursor.append(member: tail)
        cursor.append("}\n")
        cursor.finish()
        buffer.withBytes(take)
    }
}

extension ByteCursor {
    mutating func append(string text: String) {
        var text = text
        text.withUTF8 { _ = appendString(UnsafeRawBufferPointer($0)) }
    }

    mutating func append(key: EntityKey) {
        switch key {
        case .text(let bytes): bytes.withUnsafeBytes { _ = appendString($0) }
        case .integer(let value): append(decimal: value)
        case .encoded:
            append("[")
            for (number, value) in key.values.enumerated() {
                if number > 0 { append(",") }
                append(keyValue: value)
            }
            append("]")
        }
    }

    private mutating func append(keyValue: KeyValue) {
        switch keyValue {
        case .integer(let value): append(decimal: value)
        case .real(let value): append(real: value)
        case .text(let bytes): bytes.withUnsafeBytes { _ = appendString($0) }
        case .blob(let bytes):
            append("{\"base64\":")
            bytes.withUnsafeBytes { appendBase64($0) }
            append("}")
        }
    }

    /// Appends a member's fields and the closing brace.
    fileprivate mutating func append(member: MemberEntry) {
        append("\"offset\":")
        append(decimal: Int64(member.offset))
        append(",\"length\":")
        append(decimal: Int64(member.length))
        append(",\"rawLength\":")
        append(decimal: Int64(member.rawLength))
        append(",\"sha256\":\"")
        append(member.sha256.description)
        append("\",\"rawSha256\":\"")
        append(member.rawSHA256.description)
        append("\"}")
    }
}
