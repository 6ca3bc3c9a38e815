package import StrictText

/// The unit of the numbers in a timestamp column. RFC 3339 text in it counts with any unit.
package enum TimestampUnit: String, NameInFile, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    case seconds
    /// Milliseconds since 1970.
    case milliseconds
    /// Microseconds since 1970.
    case microseconds
    /// Seconds since 2001-01-01T00:00:00Z, as Apple's frameworks store them.
    case apple
    /// The Julian day in UTC, as SQLite's `julianday()` returns it.
    case julian

    /// The instant of an integer; nil outside the years 0001 to 9999.
    package func instant(of integer: Int64) -> Instant? {
        switch self {
        case .seconds: Self.instant(integer, times: 1_000_000)
        case .milliseconds: Self.instant(integer, times: 1000)
        case .microseconds: Self.instant(integer, times: 1)
        case .apple: Self.instant(integer, times: 1_000_000, after: Self.appleEpoch)
        case .julian: instant(of: Double(integer))
        }
    }

    /// The instant of a real number, to the nearest microsecond; nil outside the years 0001 to 9999.
    package func instant(of real: Double) -> Instant? {
        let microseconds: Double
        var start: Int64 = 0
        switch self {
        case .seconds: microseconds = real * 1_000_000
        case .milliseconds: microseconds = real * 1000
        case .microseconds: microseconds = real
        case .apple: (microseconds, start) = (real * 1_000_000, Self.appleEpoch)
        // Subtract as days, which is exact near the present; a product of that size would not be.
        case .julian: microseconds = (real - Self.julianDayOf1970) * 86_400_000_000
        }
        return Int64(exactly: microseconds.rounded()).flatMap { Self.instant($0, times: 1, after: start) }
    }

    /// The number for an instant in place of an earlier value. An integer, rounded down, unless that was a real number.
    package func value(of instant: Instant, replacing value: OwnedValue?) -> ColumnValue {
        if case .real? = value { return .real(real(instant)) }
        return self == .julian ? .real(real(instant)) : .integer(whole(instant))
    }

    /// The real number for an instant.
    package func real(_ instant: Instant) -> Double {
        switch self {
        case .seconds: Double(instant.microseconds) / 1_000_000
        case .milliseconds: Double(instant.microseconds) / 1000
        case .microseconds: Double(instant.microseconds)
        case .apple: Double(instant.microseconds - Self.appleEpoch) / 1_000_000
        case .julian: Double(instant.microseconds) / 86_400_000_000 + Self.julianDayOf1970
        }
    }

    /// How many whole units an instant is after the start of the unit's count.
    private func whole(_ instant: Instant) -> Int64 {
        func floor(_ microseconds: Int64, _ unit: Int64) -> Int64 { (microseconds - (microseconds % unit + unit) % unit) / unit }
        return switch self {
        case .seconds: floor(instant.microseconds, 1_000_000)
        case .milliseconds: floor(instant.microseconds, 1000)
        case .microseconds: instant.microseconds
        case .apple: floor(instant.microseconds - Self.appleEpoch, 1_000_000)
        case .julian: floor(instant.microseconds, 86_400_000_000) + 2_440_587
        }
    }

    private static func instant(_ count: Int64, times unit: Int64, after start: Int64 = 0) -> Instant? {
        let (product, overflow) = count.multipliedReportingOverflow(by: unit)
        let (sum, beyond) = product.addingReportingOverflow(start)
        return overflow || beyond || !Instant.representable.contains(sum) ? nil : Instant(microseconds: sum)
    }

    /// 2001-01-01T00:00:00Z in microseconds since 1970.
    private static let appleEpoch: Int64 = 978_307_200_000_000
    private static let julianDayOf1970 = 2_440_587.5
}

/// Reads the instant of a row's own timestamp column: the one implementation for values, SQL, logs and JSON.
package struct RowInstant: Sendable {
    /// The column's position in the schema.
    package let index: Int
    /// The unit of its numbers; nil if only RFC 3339 text counts.
    package let unit: TimestampUnit?

    /// Nil for a dataset without a timestamp column.
    package init?(_ schema: DatasetSchema) {
        guard let index = schema.timestampIndex else { return nil }
        self.index = index
        unit = schema.timestampUnit
    }

    /// The instant of a row from its values in the schema's order; nil if the value is not an instant.
    package func instant(in values: UnsafeBufferPointer<ColumnValue>) -> Instant? { Self.instant(of: values[index], unit) }

    /// The instant of a value of the column: RFC 3339 text, or a number if there is a unit. Nil if it is none.
    package static func instant(of value: ColumnValue, _ unit: TimestampUnit?) -> Instant? {
        switch (value, unit) {
        case (.text(let bytes), _): try? Instant(parsing: bytes)
        case (.integer(let integer), let unit?): unit.instant(of: integer)
        case (.real(let real), let unit?): unit.instant(of: real)
        default: nil
        }
    }
}
