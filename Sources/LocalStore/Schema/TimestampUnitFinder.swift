import Foundation
import SnapshotModel
import StrictText

/// Finds the unit of a numeric timestamp column from its least and its greatest value.
///
/// A unit is found only if by it all values are dates from 2000 until the day after tomorrow, and by no other unit. Until 2031 no two units
/// overlap in that range.
struct TimestampUnitFinder {
    private let earliest: Instant
    private let latest: Instant

    /// - Parameter now: the time of the description; columns that say when a row was changed hold no later times.
    init(now: Date = Date()) {
        earliest = Instant(microseconds: 946_684_800_000_000)
        latest = Instant(microseconds: Int64(now.timeIntervalSince1970 * 1_000_000) + 2 * 86_400_000_000)
    }

    /// The units by which all values of a column are in that range; empty for a column without values.
    func units(of kind: ColumnKind, _ counts: ColumnCensus.Counts) -> [TimestampUnit] {
        guard let least = counts.least, let greatest = counts.greatest else { return [] }
        return TimestampUnit.allCases.filter { unit in
            unit.columnKinds.contains(kind)
                && [least, greatest].allSatisfy { value in unit.instant(of: value).map { $0 >= start(of: unit) && $0 <= latest } ?? false }
        }
    }

    /// Apple's seconds begin in 2001, so small numbers, which may count anything, would be dates of that first year. Dates by this unit must be
    /// later.
    private func start(of unit: TimestampUnit) -> Instant { unit == .apple ? Instant(microseconds: 1_009_843_200_000_000) : earliest }
}
