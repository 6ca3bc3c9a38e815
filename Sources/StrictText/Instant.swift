import Platform

/// A point in time, in whole microseconds since 1970-01-01T00:00:00Z.
///
///     let instant = try Instant(parsing: "2026-11-21T08:32:00.250+01:00")
///     print(instant)                       // 2026-11-21T07:32:00.250Z
///
/// Instants are compared as integers, never as texts. Range: the years 0001 to 9999.
/// Source: RFC 3339 section 5.6; the calendar is the proleptic Gregorian one.
public struct Instant: Hashable, Sendable, Comparable {
    /// Microseconds since the epoch; negative before 1970.
    public let microseconds: Int64

    /// Makes an instant from a number of microseconds since the epoch.
    public init(microseconds: Int64) { self.microseconds = microseconds }

    /// Earlier than every instant that a text can represent.
    package static let distantPast = Instant(microseconds: .min)

    /// 0001-01-01T00:00:00Z, the first instant that a text can represent.
    package static let earliest = Instant(microseconds: representable.lowerBound)

    public static func < (left: Instant, right: Instant) -> Bool {
        left.microseconds < right.microseconds
    }

    /// The instant that many microseconds later, or earlier if `count` is negative. A later instant is limited to the last one that a text can
    /// represent, so that a readable instant never becomes an unreadable one.
    package func advanced(byMicroseconds count: Int64) -> Instant {
        let (sum, isBeyond) = microseconds.addingReportingOverflow(count)
        guard count < 0 else { return Instant(microseconds: isBeyond ? Instant.representable.upperBound : min(sum, Instant.representable.upperBound)) }
        return isBeyond ? .distantPast : Instant(microseconds: sum)
    }
}

/// A text that is not an RFC 3339 date and time.
package struct InstantError: Error, CustomStringConvertible, Sendable {
    /// What is wrong with the text; never the text itself.
    package let reason: String

    package var description: String { "not an RFC 3339 date and time: \(reason)" }
}

extension Instant {
    /// Reads an RFC 3339 date and time: `Z` or an offset, 0 to 9 fraction digits, real dates only.
    ///
    /// Digits beyond microseconds are dropped. A leap second (`:60`) is refused, because this calendar has none.
    ///
    /// - Throws: ``InstantError`` with the reason.
    public init(parsing text: String) throws {
        var text = text
        self = try text.withUTF8 { try Instant(parsing: UnsafeRawBufferPointer($0)) }
    }

    /// Reads an RFC 3339 date and time from UTF-8 bytes. See ``init(parsing:)-(String)``.
    package init(parsing bytes: UnsafeRawBufferPointer) throws {
        var reader = InstantReader(bytes: bytes)
        self.init(microseconds: try reader.read())
    }
}

/// Reads the fixed columns of `YYYY-MM-DDTHH:MM:SS[.f…](Z|±HH:MM)`.
private struct InstantReader {
    let bytes: UnsafeRawBufferPointer
    var position = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func read() throws -> Int64 {
        let year = try digits(4), month = try after("-", 2), day = try after("-", 2)
        let hour = try after("T", 2), minute = try after(":", 2), second = try after(":", 2)
        guard year >= 1, (1...12).contains(month), day >= 1, day <= Instant.days(in: month, of: year) else {
            throw InstantError(reason: "no such day")
        }
        guard hour < 24, minute < 60, second < 60 else { throw InstantError(reason: "no such time of day") }
        let fraction = try microseconds()
        let offset = try offsetMinutes()
        guard position == bytes.count else { throw InstantError(reason: "text after the end") }

        let seconds =
            Instant.daysSinceEpoch(year: year, month: month, day: day) * 86_400
            + Int64(hour * 3600 + minute * 60 + second) - Int64(offset * 60)
        let total = seconds * 1_000_000 + fraction
        guard Instant.representable.contains(total) else { throw InstantError(reason: "outside the years 1 to 9999") }
        return total
    }

    private mutating func digits(_ count: Int) throws -> Int {
        guard position + count <= bytes.count else { throw InstantError(reason: "it ends too early") }
        var value = 0
        for index in position..<position + count {
            let digit = bytes[index] &- UInt8(ascii: "0")
            guard digit < 10 else { throw InstantError(reason: "a digit is missing at byte \(index)") }
            value = value * 10 + Int(digit)
        }
        position += count
        return value
    }

    private mutating func after(_ separator: Unicode.Scalar, _ count: Int) throws -> Int {
        guard position < bytes.count, bytes[position] == UInt8(ascii: separator) else {
            throw InstantError(reason: "'\(separator)' is missing at byte \(position)")
        }
        position += 1
        return try digits(count)
    }

    private mutating func microseconds() throws -> Int64 {
        guard position < bytes.count, bytes[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        var value: Int64 = 0
        var count = 0
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") < 10 {
            if count < 6 { value = value * 10 + Int64(bytes[position] - UInt8(ascii: "0")) }
            count += 1
            position += 1
        }
        guard (1...9).contains(count) else { throw InstantError(reason: "a fraction has 1 to 9 digits") }
        for _ in min(count, 6)..<6 { value *= 10 }
        return value
    }

    private mutating func offsetMinutes() throws -> Int {
        guard position < bytes.count else { throw InstantError(reason: "'Z' or an offset is missing") }
        let sign: Int
        switch bytes[position] {
        case UInt8(ascii: "Z"):
            position += 1
            return 0
        case UInt8(ascii: "+"): sign = 1
        case UInt8(ascii: "-"): sign = -1
        default: throw InstantError(reason: "'Z' or an offset is missing")
        }
        position += 1
        let hours = try digits(2), minutes = try after(":", 2)
        guard hours < 24, minutes < 60 else { throw InstantError(reason: "no such offset") }
        return sign * (hours * 60 + minutes)
    }
}

extension Instant: CustomStringConvertible {
    /// The instant in UTC: `2026-11-21T07:32:00.250Z`, with six fraction digits if three are not enough.
    public var description: String {
        let (day, time) = microseconds.quotientAndRemainder(roundingDownBy: 86_400_000_000)
        let (year, month, date) = Instant.civil(daysSinceEpoch: day)
        let (seconds, fraction) = (Int(time / 1_000_000), Int(time % 1_000_000))
        let clock = Instant.pad(seconds / 3600, 2) + ":" + Instant.pad(seconds / 60 % 60, 2) + ":" + Instant.pad(seconds % 60, 2)
        let digits = fraction % 1000 == 0 ? Instant.pad(fraction / 1000, 3) : Instant.pad(fraction, 6)
        return "\(Instant.pad(year, 4))-\(Instant.pad(month, 2))-\(Instant.pad(date, 2))T\(clock).\(digits)Z"
    }

    private static func pad(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}

extension Instant: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            try self.init(parsing: try container.decode(String.self))
        } catch let error as InstantError {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: error.description)
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

// The proleptic Gregorian calendar in whole days, computed with years that begin in March.
extension Instant {
    /// The years 1 to 9999, which RFC 3339 can write, in microseconds.
    package static let representable: ClosedRange<Int64> = -62_135_596_800_000_000...253_402_300_799_999_999

    static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: return 30
        default: return 31
        }
    }

    static func daysSinceEpoch(year: Int, month: Int, day: Int) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400, yearOfEra = shifted % 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return Int64(era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
    }

    static func civil(daysSinceEpoch days: Int64) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (Int(days) + 719_468).quotientAndRemainder(roundingDownBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

extension BinaryInteger {
    fileprivate func quotientAndRemainder(roundingDownBy divisor: Self) -> (Self, Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension Instant {
    /// The present time by the machine's real-time clock.
    public static var now: Instant { Instant(microseconds: System.microsecondsSince1970) }
}
