import SnapshotVersions
import StrictText

/// Refuses to publish while the device's clock is not set: the wrong time would become the timestamp of every entity that is changed.
///
/// The cloud compares the clock with its own time when the commit is put in place (`clockUnusable`).
enum ClockGuard {
    /// The years 2000 to 2100.
    private static let plausible = Instant(microseconds: 946_684_800_000_000)...Instant(microseconds: 4_102_444_800_000_000)

    /// Whether a clock is between the years 2000 and 2100.
    static func isPlausible(_ clock: Instant) -> Bool { plausible.contains(clock) }

    /// Refuses a clock outside 2000 to 2100, before anything is read or written.
    ///
    /// - Throws: ``SyncError`` with `.refused`.
    static func verify(_ clock: Instant) throws {
        guard !isPlausible(clock) else { return }
        throw SyncError(
            .refused, step: .open, at: "clock", "this device's clock says \(clock); nothing was published",
            hint: "set the clock, then try again; what was changed meanwhile is not lost")
    }
}
