import StrictText
import Testing

@Suite struct InstantTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-21T08:32:00.250+01:00", 1_795_246_320_250_000),
        ("2026-11-21T07:32:00.25Z", 1_795_246_320_250_000),
        ("2026-11-21T07:32:00.250000999Z", 1_795_246_320_250_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ("2000-02-29T12:00:00-00:30", 951_827_400_000_000),
    ])
    func aTextIsReadAsMicroseconds(text: String, expected: Int64) throws {
        #expect(try Instant(parsing: text).microseconds == expected)
    }

    @Test(arguments: [
        "", "2026", "2026-11-21", "2026-11-21T08:32Z", "2026-11-21 08:32:00Z", "2026-11-21T08:32:00", "2026-02-30T00:00:00Z",
        "2025-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z",
        "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00z", "2026-01-01T00:00:00Z ", " 2026-01-01T00:00:00Z", "2026-01-01T00:00:00+1:00", "2026-01-01T00:00:00+24:00",
        "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "２026-01-01T00:00:00Z", "-026-01-01T00:00:00Z",
    ])
    func whatIsNoInstantIsRefused(text: String) {
        #expect(throws: InstantError.self) { try Instant(parsing: text) }
    }

    @Test func everyMillisecondRoundTripsThroughText() throws {
        for microseconds in stride(from: Int64(1_700_000_000_000_000), to: 1_700_000_003_000_000, by: 1000) {
            let instant = Instant(microseconds: microseconds)
            #expect(instant.description.count == 24)
            #expect(try Instant(parsing: instant.description) == instant)
        }
    }

    @Test func everyDayOfFourCenturiesRoundTrips() throws {
        for day in stride(from: Int64(-80_000), to: 80_000, by: 1) {
            let instant = Instant(microseconds: day * 86_400_000_000 + 1)
            #expect(try Instant(parsing: instant.description) == instant)
        }
    }

    @Test func noInstantIsMadeThatNoTextCanName() throws {
        let last = try Instant(parsing: "9999-12-31T23:59:59.999999Z")
        #expect(last.advanced(byMicroseconds: 1) == last && last.advanced(byMicroseconds: .max) == last)
        #expect(last.advanced(byMicroseconds: -1).advanced(byMicroseconds: 1) == last)
        #expect(Instant(microseconds: 0).advanced(byMicroseconds: -7) == Instant(microseconds: -7))
        #expect(Instant.distantPast.advanced(byMicroseconds: -1) == .distantPast && Instant.distantPast.advanced(byMicroseconds: 1) > .distantPast)
    }

    @Test func instantsAreOrderedByTimeAndNotByText() throws {
        let earlier = try Instant(parsing: "2026-01-01T01:30:00+02:00"), later = try Instant(parsing: "2026-01-01T00:00:00Z")
        #expect(earlier < later)
    }
}
