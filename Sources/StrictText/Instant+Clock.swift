import Platform

extension Instant {
    /// The present time by the machine's real-time clock.
    public static var now: Instant { Instant(microseconds: System.microsecondsSince1970) }
}
