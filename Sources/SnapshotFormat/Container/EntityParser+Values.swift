internal import SnapshotModel
internal import StrictText

extension EntityParser {
    /// Writes the string at `start` to `scratch` without its escapes; returns where it lies there and the position behind it.
    func unescape(
        _ scanner: JSONScanner, _ start: Int, _ scratch: ByteBuffer
    ) throws(JSONFault) -> (offset: Int, count: Int, end: Int) {
        let end = try scanner.skipString(start)
        let close = end - 1
        let offset = scratch.count
        // No escape is shorter than what it stands for.
        scratch.reserve(close - start)
        var target = scratch.base + offset
        var position = start + 1
        while position < close {
            // A string without further escapes ends with its quote, which is where plainEnd stops.
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

    /// Reads an integer, a boolean, a real or a blob. White space around it was skipped; `null` was dealt with.
    func scalar(
        _ scanner: JSONScanner, _ start: Int, _ index: Int, _ beginsEntity: Bool, _ scratch: ByteBuffer
    ) throws(EntityFault) -> (EntitySlot, end: Int) {
        let base = scanner.base
        switch plan.columns[index].kind {
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
            return (try number(base + start, end - start, isInteger, index, beginsEntity), end)
        default:
            guard base[start] == UInt8(ascii: "\"") else { throw EntityFault("a string in base64 is expected", column: index) }
            let (offset, count, end) = try grammar(index) { () throws(JSONFault) in try unescape(scanner, start, scratch) }
            let digits = scratch.base + offset
            guard let length = Base64.decode(digits, count: count, to: digits) else {
                throw EntityFault("the string is not base64", column: index)
            }
            scratch.count = offset + length
            return (EntitySlot(.blob, column: index, beginsEntity: beginsEntity, offset: offset, count: length), end)
        }
    }

    private func number(
        _ token: UnsafePointer<UInt8>, _ count: Int, _ isInteger: Bool, _ index: Int, _ beginsEntity: Bool
    ) throws(EntityFault) -> EntitySlot {
        let isReal = plan.columns[index].kind == .real
        // -0 is a real number that no integer holds.
        let isNegativeZero = isReal && isInteger && count == 2 && token[0] == UInt8(ascii: "-") && token[1] == UInt8(ascii: "0")
        if isInteger, !isNegativeZero, let value = NumberText.integer(token, count: count) {
            return EntitySlot(.integer, column: index, beginsEntity: beginsEntity, bits: UInt64(bitPattern: value))
        }
        guard isReal else {
            throw EntityFault(isInteger ? "the integer does not fit in 64 bits" : "an integer is expected", column: index)
        }
        guard let value = NumberText.real(token, count: count) else { throw EntityFault("the number is too large", column: index) }
        return EntitySlot(.real, column: index, beginsEntity: beginsEntity, bits: value.bitPattern)
    }

    /// Lets a fault of the JSON be one of the entity.
    @inline(__always)
    func grammar<T>(_ index: Int? = nil, _ body: () throws(JSONFault) -> T) throws(EntityFault) -> T {
        do throws(JSONFault) {
            return try body()
        } catch {
            throw EntityFault(error.reason, column: index)
        }
    }
}
