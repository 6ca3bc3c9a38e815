import Foundation
internal import SnapshotModel
import StrictText
internal import StrictText

/// Reads canonical JSON with an exactly defined layout: the header, the tail and the index.
///
/// The bytes are valid only during a call.
struct LiteralReader {
    private let scanner: JSONScanner
    private let bytes: UnsafeRawBufferPointer
    private let place: String
    private(set) var position = 0

    init(_ bytes: UnsafeRawBufferPointer, place: String) {
        self.bytes = bytes
        self.place = place
        scanner = JSONScanner(bytes)
    }

    /// The number of bytes that have not been read.
    var remainingCount: Int { bytes.count - position }

    /// Skips a text if it comes next. Returns whether it did.
    mutating func accept(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - position >= count else { return false }
        for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
        position += count
        return true
    }

    /// Skips a text that must come next.
    mutating func expect(_ text: StaticString) throws {
        guard !accept(text) else { return }
        // Report truncated input differently from wrong input.
        let left = bytes.count - position
        var isCut = left < text.utf8CodeUnitCount
        for index in 0..<min(left, text.utf8CodeUnitCount) where bytes[position + index] != text.utf8Start[index] { isCut = false }
        throw isCut ? cut() : damage("'\(text.description.trimmingPrefix("\n"))' is expected")
    }

    /// Refuses anything that comes next.
    func expectEnd() throws {
        guard position == bytes.count else { throw damage("text after the end") }
    }

    /// Reads an integer.
    mutating func integer() throws -> Int64 {
        var digits = position
        if digits < bytes.count, bytes[digits] == UInt8(ascii: "-") { digits += 1 }
        guard digits < bytes.count else { throw cut() }
        guard bytes[digits] &- UInt8(ascii: "0") < 10 else { throw damage("an integer is expected") }
        do throws(JSONFault) {
            let (end, isInteger) = try scanner.skipNumber(position)
            guard isInteger, let value = NumberText.integer(scanner.base + position, count: end - position) else {
                throw JSONFault(offset: position, reason: "an integer of 64 bits is expected")
            }
            position = end
            return value
        } catch {
            throw damage(error.reason)
        }
    }

    /// Reads an integer that is not negative.
    mutating func count() throws -> Int {
        let value = try integer()
        guard value >= 0 else { throw damage("a number is negative") }
        return Int(value)
    }

    /// Reads a JSON value and returns its bytes.
    mutating func value() throws -> UnsafeRawBufferPointer {
        guard position < bytes.count else { throw cut() }
        do throws(JSONFault) {
            let start = position
            // An entity may hold values of the greatest depth.
            position = try scanner.skipValue(start, depthLimit: JSONScanner.depthLimit + 1)
            return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        } catch {
            throw damage(error.reason)
        }
    }

    /// Reads a JSON string and returns the range between its quotes, with escapes.
    private mutating func quoted() throws -> (start: Int, end: Int) {
        guard position < bytes.count else { throw cut() }
        guard bytes[position] == UInt8(ascii: "\"") else { throw damage("a string is expected") }
        do throws(JSONFault) {
            let end = try scanner.skipString(position)
            let start = position + 1
            position = end
            return (start, end - 1)
        } catch {
            throw damage(error.reason)
        }
    }

    /// Reads a string as UTF-8 bytes.
    mutating func stringBytes() throws -> [UInt8] {
        let (start, end) = try quoted()
        let text: [UInt8]
        do throws(JSONFault) {
            text = try scanner.unescape(start, end)
        } catch {
            throw damage(error.reason)
        }
        guard text.withUnsafeBytes({ UTF8Check.firstFault(in: $0) }) == nil else { throw damage("a string is not UTF-8") }
        return text
    }

    /// Reads a string.
    mutating func string() throws -> String { String(decoding: try stringBytes(), as: UTF8.self) }

    /// Reads a key: a string, an integer, or an array of the values of an encoded key.
    mutating func key() throws -> EntityKey {
        guard position < bytes.count else { throw cut() }
        if bytes[position] == UInt8(ascii: "\"") { return .text(try stringBytes()) }
        guard accept("[") else { return .integer(try integer()) }
        var values: [KeyValue] = []
        repeat { values.append(try keyValue()) } while values.count < 1000 && accept(",")
        try expect("]")
        return EntityKey(encoding: values)
    }

    private mutating func keyValue() throws -> KeyValue {
        guard position < bytes.count else { throw cut() }
        if bytes[position] == UInt8(ascii: "\"") { return .text(try stringBytes()) }
        if accept("{\"base64\":") {
            let digits = Data(try stringBytes())
            guard let blob = Data(base64Encoded: digits), blob.base64EncodedData() == digits else { throw damage("a string is not base64") }
            try expect("}")
            return .blob(Array(blob))
        }
        guard bytes[position] == UInt8(ascii: "-") || bytes[position] &- UInt8(ascii: "0") < 10 else { throw damage("a value of a key is expected") }
        do throws(JSONFault) {
            let (end, isInteger) = try scanner.skipNumber(position)
            let token = scanner.base + position, count = end - position
            let value: KeyValue? =
                isInteger ? NumberText.integer(token, count: count).map { .integer($0) } : NumberText.real(token, count: count).map { .real($0) }
            guard let value else { throw JSONFault(offset: position, reason: "a number is too large") }
            position = end
            return value
        } catch {
            throw damage(error.reason)
        }
    }

    /// Reads a SHA-256 in hexadecimal digits.
    mutating func hash() throws -> ContentHash {
        let (start, end) = try quoted()
        guard let hash = ContentHash(hex: UnsafeRawBufferPointer(rebasing: bytes[start..<end])) else {
            throw damage("64 lower-case hexadecimal digits are expected")
        }
        return hash
    }

    /// Reads an instant in the only form that the format allows.
    mutating func instant() throws -> Instant {
        let (start, end) = try quoted()
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        guard let instant = try? Instant(parsing: text), text.elementsEqual(instant.description.utf8) else {
            throw damage("an instant in UTC with 3 or 6 fraction digits is expected")
        }
        return instant
    }

    private func cut() -> SyncError { SyncError(format: .truncated, at: place, "it ends at byte \(bytes.count), in the middle") }

    func damage(_ reason: String) -> SyncError {
        SyncError(format: .damaged, at: "\(place), byte \(position)", reason, hint: "fetch the file again; else have the writer run: snapsync export --full")
    }
}
