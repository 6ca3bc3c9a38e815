import Foundation
internal import SnapshotModel
internal import StrictText

extension EntityParser {
    /// Writes the string at `start` to `scratch` without its escapes. Returns its range there and the position after the string.
    func unescape(
        _ scanner: JSONScanner, at start: Int, to scratch: ByteBuffer
    ) throws(JSONFault) -> (offset: Int, count: Int, end: Int) {
        let end = try scanner.skipString(start)
        let close = end - 1
        let offset = scratch.count
        // An escape is never shorter than the bytes that it stands for.
        scratch.reserve(close - start)
        var target = scratch.base + offset
        var position = start + 1
        while position < close {
            // plainEnd stops at an escape or at the closing quote.
            let plain = scanner.plainEnd(position)
            target.update(from: scanner.base + position, count: plain - position)
            target += plain - position
            guard plain < close else { break }
            position = try scanner.unescapeOne(plain) {
                target.pointee = $0
                target += 1
            }
        }
        scratch.count = target - scratch.base
        return (offset, scratch.count - offset, end)
    }

    /// Parses an integer, boolean, real, blob, or value without a shape. The caller has skipped white space and handled `null`.
    func scalar(
        _ scanner: JSONScanner, at start: Int, of index: Int, beginsEntity: Bool, to scratch: ByteBuffer
    ) throws(EntityFault) -> (EntitySlot, end: Int) {
        let base = scanner.base
        switch plan.columns[index].shape {
        case .boolean:
            let isTrue = base[start] == UInt8(ascii: "t")
            guard isTrue || base[start] == UInt8(ascii: "f") else { throw EntityFault("true or false is expected", column: index) }
            let end = try grammar(index) { () throws(JSONFault) in try scanner.skipScalar(start) }
            return (EntitySlot(.integer, column: index, beginsEntity: beginsEntity, bits: isTrue ? 1 : 0), end)
        case .integer, .real:
            guard base[start] == UInt8(ascii: "-") || base[start] &- UInt8(ascii: "0") < 10 else {
                throw EntityFault("a number is expected", column: index)
            }
            let (end, isInteger) = try grammar(index) { () throws(JSONFault) in try scanner.skipNumber(start) }
            return (try number(base + start, count: end - start, isInteger: isInteger, of: index, beginsEntity: beginsEntity), end)
        case nil:
            return try plainValue(scanner, at: start, of: index, beginsEntity: beginsEntity, to: scratch)
        default:
            let (offset, count, end) = try bytes(scanner, at: start, of: index, to: scratch)
            return (EntitySlot(.blob, column: index, beginsEntity: beginsEntity, offset: offset, count: count), end)
        }
    }

    /// Decodes a base64 string to `scratch`. Returns its range there and the position after the string.
    private func bytes(
        _ scanner: JSONScanner, at start: Int, of index: Int, to scratch: ByteBuffer
    ) throws(EntityFault) -> (offset: Int, count: Int, end: Int) {
        guard scanner.base[start] == UInt8(ascii: "\"") else { throw EntityFault("a string in base64 is expected", column: index) }
        let (offset, count, end) = try grammar(index) { () throws(JSONFault) in try unescape(scanner, at: start, to: scratch) }
        let digits = Data(bytes: scratch.base + offset, count: count)
        // Foundation also decodes digits with unused bits.
        guard let blob = Data(base64Encoded: digits), blob.base64EncodedData() == digits else {
            throw EntityFault("the string is not base64", column: index)
        }
        scratch.count = offset
        blob.withUnsafeBytes { scratch.append($0) }
        return (offset, blob.count, end)
    }

    /// Parses a value whose JSON form determines its storage class.
    private func plainValue(
        _ scanner: JSONScanner, at start: Int, of index: Int, beginsEntity: Bool, to scratch: ByteBuffer
    ) throws(EntityFault) -> (EntitySlot, end: Int) {
        let base = scanner.base
        switch base[start] {
        case UInt8(ascii: "\""):
            let close = scanner.plainEnd(start + 1)
            if close < scanner.end, base[close] == UInt8(ascii: "\"") {
                return (EntitySlot(.rawText, column: index, beginsEntity: beginsEntity, offset: start + 1, count: close - start - 1), close + 1)
            }
            let (offset, count, end) = try grammar(index) { () throws(JSONFault) in try unescape(scanner, at: start, to: scratch) }
            return (EntitySlot(.scratchText, column: index, beginsEntity: beginsEntity, offset: offset, count: count), end)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let (end, isInteger) = try grammar(index) { () throws(JSONFault) in try scanner.skipNumber(start) }
            return (try number(base + start, count: end - start, isInteger: isInteger, of: index, beginsEntity: beginsEntity), end)
        case UInt8(ascii: "{"):
            return try valueObject(scanner, at: start, of: index, beginsEntity: beginsEntity, to: scratch)
        default:
            throw EntityFault("a number, a string or an object with the member base64, textBase64 or real is expected", column: index)
        }
    }

    /// Parses an object that stands for a value that JSON cannot express.
    private func valueObject(
        _ scanner: JSONScanner, at start: Int, of index: Int, beginsEntity: Bool, to scratch: ByteBuffer
    ) throws(EntityFault) -> (EntitySlot, end: Int) {
        let base = scanner.base
        func expect(_ byte: UInt8, at position: Int) throws(EntityFault) -> Int {
            guard position < scanner.end, base[position] == byte else {
                throw EntityFault("an object with the member base64, textBase64 or real is expected", column: index)
            }
            return position + 1
        }
        let name = try expect(UInt8(ascii: "\""), at: scanner.skipSpace(start + 1))
        let nameEnd = try grammar(index) { () throws(JSONFault) in try scanner.skipString(name - 1) }
        guard let member = ValueForm.Member(UnsafeRawBufferPointer(start: base + name, count: nameEnd - 1 - name)) else {
            throw EntityFault("the object's member is not base64, textBase64 or real", column: index)
        }
        let content = scanner.skipSpace(try expect(UInt8(ascii: ":"), at: scanner.skipSpace(nameEnd)))
        _ = try expect(UInt8(ascii: "\""), at: content)
        let slot: EntitySlot
        let end: Int
        switch member {
        case .real:
            end = try grammar(index) { () throws(JSONFault) in try scanner.skipString(content) }
            let text = UnsafeRawBufferPointer(start: base + content + 1, count: end - content - 2)
            let isNegative = text.elementsEqual("-Infinity".utf8)
            guard isNegative || text.elementsEqual("Infinity".utf8) else {
                throw EntityFault("the member real is neither Infinity nor -Infinity", column: index)
            }
            guard !plan.columns[index].isKey else { throw EntityFault("an infinite number cannot be a key", column: index) }
            let value: Double = isNegative ? -.infinity : .infinity
            slot = EntitySlot(.real, column: index, beginsEntity: beginsEntity, bits: value.bitPattern)
        case .blob, .text:
            let (offset, count, after) = try bytes(scanner, at: content, of: index, to: scratch)
            end = after
            // Each value has only one form: UTF-8 text must be a string.
            if member == .text, UTF8Check.firstFault(in: UnsafeRawBufferPointer(start: scratch.base + offset, count: count)) == nil {
                throw EntityFault("the member textBase64 is text in UTF-8, which must be a string", column: index)
            }
            guard member == .blob || !plan.columns[index].isKey else { throw EntityFault("a key is text in UTF-8", column: index) }
            slot = EntitySlot(member == .text ? .scratchText : .blob, column: index, beginsEntity: beginsEntity, offset: offset, count: count)
        }
        return (slot, try expect(UInt8(ascii: "}"), at: scanner.skipSpace(end)))
    }

    private func number(
        _ token: UnsafePointer<UInt8>, count: Int, isInteger: Bool, of index: Int, beginsEntity: Bool
    ) throws(EntityFault) -> EntitySlot {
        let shape = plan.columns[index].shape
        // Without a shape, a number without fraction and exponent is an integer.
        let isReal = shape == .real || (shape == nil && !isInteger)
        // -0 can only be a real number.
        let isNegativeZero = isInteger && count == 2 && token[0] == UInt8(ascii: "-") && token[1] == UInt8(ascii: "0")
        guard isReal || !isNegativeZero else { throw EntityFault("-0 is no integer", column: index) }
        if isInteger, !isNegativeZero, let value = NumberText.integer(token, count: count) {
            return EntitySlot(.integer, column: index, beginsEntity: beginsEntity, bits: UInt64(bitPattern: value))
        }
        guard isReal else {
            throw EntityFault(isInteger ? "the integer does not fit in 64 bits" : "an integer is expected", column: index)
        }
        guard let value = NumberText.real(token, count: count) else { throw EntityFault("the number is too large", column: index) }
        return EntitySlot(.real, column: index, beginsEntity: beginsEntity, bits: value.bitPattern)
    }

    /// Converts a JSON error to an error of the entity.
    @inline(__always)
    func grammar<T>(_ index: Int? = nil, _ body: () throws(JSONFault) -> T) throws(EntityFault) -> T {
        do throws(JSONFault) {
            return try body()
        } catch {
            throw EntityFault(error.reason, column: index)
        }
    }
}
